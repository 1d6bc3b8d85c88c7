-- Gives back grants that nobody used.
-- KEYS  1..B        buckets, of one slot; the same one may stand there again
-- ARGV  1           time in µs for tests; '' = the server's clock. TTLs are an hour longer then
--       then 6 a bucket: n, q, capacity, fingerprint, price (credits), the time it was granted for (µs)
-- Reply 1
-- An absent bucket is full and stays absent; a bucket that gets full is deleted.
-- @include lib/now
-- @include lib/token_bucket
-- @include lib/bucket_value

local given = tonumber(ARGV[1])
local now = read_now(given)
local spare_ttl = given and 3600000 or 2
for i = 1, #KEYS do
  local a = 6 * i - 4
  local n, q, cap = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local mark, price, starts_at = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]), tonumber(ARGV[a + 5])
  local c, t, found = decode(redis.call('GET', KEYS[i]), q, cap, now, rescale)
  if found then
    c, t = refill(c, t, n, cap, now)
    c = give_back(c, t, n, cap, price, starts_at)
    if c >= cap then
      redis.call('DEL', KEYS[i])
    else
      local ttl = math.ceil(time_to_full(c, t, n, cap, now) / 1000) + spare_ttl
      redis.call('SET', KEYS[i], encode(mark, c, t, q), 'PX', ttl)
    end
  end
end
return 1
