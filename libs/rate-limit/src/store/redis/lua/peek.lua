-- Looks into several buckets and writes nothing.
-- KEYS  1..B        buckets, of one slot
--       B+1..2B     what is configured for each
-- ARGV  1           time in µs for tests; '' = the server's clock
--       then 3 a bucket: n, q, capacity
-- Reply [1]         the server's time in µs
--       then three a bucket: credits after refill, t - now if positive else 0, what is configured ('' = nothing)
-- @include lib/now
-- @include lib/token_bucket
-- @include lib/bucket_value
-- @include lib/configuration

local now = read_now(tonumber(ARGV[1]))
local buckets = #KEYS / 2
local reply = { now }
for i = 1, buckets do
  local a = 3 * i - 1
  local n, q, cap = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local stored = redis.call('MGET', KEYS[i], KEYS[buckets + i])
  local text = ''
  if stored[2] then
    local blocked, n2, q2, cap2 = configured(stored[2], now)
    if n2 then n, q, cap = n2, q2, cap2 end
    if n2 or blocked > 0 then text = stored[2] end
  end
  local c, t = decode(stored[1], q, cap, now, rescale)
  c, t = refill(c, t, n, cap, now)
  reply[#reply + 1] = c
  reply[#reply + 1] = math.max(0, t - now)
  reply[#reply + 1] = text
end
return reply
