-- Gives back grants that nobody used.
-- KEYS  1..B        buckets, of one slot; the same one may stand there again
--       B+1..2B     what is configured for each
-- ARGV  1           time in µs for tests; '' = the server's clock. TTLs are an hour longer then
--       then 6 a bucket: n, q, capacity, fingerprint, price (credits), the time it was granted for (µs);
--                   below 0: minus that time, of a grant that nobody heard of. It is undone: it counts as still to come,
--                   and what it used of a window is returned to that window
-- Reply 1
-- An absent bucket is full and stays absent; a bucket that gets full is deleted.
-- @include lib/now
-- @include lib/level
-- @include lib/configuration

local given = tonumber(ARGV[1])
local now = read_now(given)
local spare_ttl = given and 3600000 or 2
local buckets = #KEYS / 2
for i = 1, buckets do
  local a = 6 * i - 4
  local n, q, cap = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local mark, price, starts_at = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]), tonumber(ARGV[a + 5])
  local stored = redis.call('MGET', KEYS[i], KEYS[buckets + i])
  if stored[2] then
    local _, n2, q2, cap2, mark2 = configured(stored[2], now)
    if n2 then n, q, cap, mark, price = n2, q2, cap2, mark2, price / q * q2 end
  end
  local kind = kind_of(mark)
  local c, t, p, found = load_level(kind, stored[1], n, q, cap, now)
  if found then
    if starts_at < 0 then
      starts_at = -starts_at
      if (kind == 1 or kind == 2) and starts_at < t then
        if kind == 1 and starts_at >= t - n then p = math.max(0, p - price) end
        price = 0
      end
      -- Part of its place in the lane is gone.
      if kind == 3 then price = math.max(0, price - math.max(0, t - starts_at) * n) end
      starts_at = math.max(starts_at, t)
    end
    c = give_back_level(kind, c, t, n, cap, price, starts_at)
    save_level(KEYS[i], kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  end
end
return 1
