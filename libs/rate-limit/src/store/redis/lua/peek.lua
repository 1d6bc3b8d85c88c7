-- Looks into several buckets and writes nothing.
-- KEYS  1..B        buckets, of one slot
--       B+1..2B     what is configured for each
-- ARGV  1           time in µs for tests; '' = the server's clock
--       then 4 a bucket: n, q, capacity, fingerprint
-- Reply [1]         the server's time in µs
--       then four a bucket: credits after refill; t - now, of windows and where it is positive, else 0; p; what is
--                   configured ('' = nothing)
-- @include lib/now
-- @include lib/level
-- @include lib/configuration

local now = read_now(tonumber(ARGV[1]))
local buckets = #KEYS / 2
local reply = { now }
for i = 1, buckets do
  local a = 4 * i - 2
  local n, q, cap, mark = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local stored = redis.call('MGET', KEYS[i], KEYS[buckets + i])
  local text = ''
  if stored[2] then
    local blocked, n2, q2, cap2, mark2 = configured(stored[2], now)
    if n2 then n, q, cap, mark = n2, q2, cap2, mark2 end
    if n2 or blocked > 0 then text = stored[2] end
  end
  local kind = kind_of(mark)
  local c, t, p = load_level(kind, stored[1], n, q, cap, now)
  reply[#reply + 1] = c
  reply[#reply + 1] = (kind == 1 or kind == 2) and t - now or math.max(0, t - now)
  reply[#reply + 1] = p
  reply[#reply + 1] = text
end
return reply
