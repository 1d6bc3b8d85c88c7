-- Looks into several buckets and writes nothing.
-- KEYS  1..B        buckets, of one slot
-- ARGV  1           time in µs for tests; '' = the server's clock
--       then 3 a bucket: n, q, capacity
-- Reply two a bucket: credits after refill, t - now if positive else 0
-- @include lib/now
-- @include lib/token_bucket
-- @include lib/bucket_value

local now = read_now(tonumber(ARGV[1]))
local reply = {}
for i = 1, #KEYS do
  local a = 3 * i - 1
  local n, q, cap = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local c, t = decode(redis.call('GET', KEYS[i]), q, cap, now, rescale)
  c, t = refill(c, t, n, cap, now)
  reply[#reply + 1] = c
  reply[#reply + 1] = math.max(0, t - now)
end
return reply
