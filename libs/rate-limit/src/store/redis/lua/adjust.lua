-- Adds credits to buckets, or takes them without asking.
-- KEYS  1..B        buckets, of one slot; the same one may stand there again
--       B+1..2B     what is configured for each
-- ARGV  1           time in µs for tests; '' = the server's clock. TTLs are an hour longer then
--       then 5 a bucket: n, q, capacity, fingerprint, credits to add (negative: to take)
-- Reply 1
-- An absent bucket is full: it stays absent when credits are added. A bucket that gets full is deleted.
-- @include lib/now
-- @include lib/level
-- @include lib/configuration

local given = tonumber(ARGV[1])
local now = read_now(given)
local spare_ttl = given and 3600000 or 2
local buckets = #KEYS / 2
for i = 1, buckets do
  local a = 5 * i - 3
  local n, q, cap = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local mark, credits = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  local stored = redis.call('MGET', KEYS[i], KEYS[buckets + i])
  if stored[2] then
    local _, n2, q2, cap2, mark2 = configured(stored[2], now)
    if n2 then n, q, cap, mark, credits = n2, q2, cap2, mark2, credits / q * q2 end
  end
  if stored[1] or credits < 0 then
    local kind = kind_of(mark)
    local c, t, p = load_level(kind, stored[1], n, q, cap, now)
    c = adjust_level(kind, c, cap, credits)
    save_level(KEYS[i], kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  end
end
return 1
