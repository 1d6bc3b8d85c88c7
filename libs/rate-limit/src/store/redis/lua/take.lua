-- Charges several buckets: all of them, or none.
-- KEYS  1..B        buckets, distinct, of one slot
--       B+1..2B     what is configured for each
-- ARGV  1           Redis time in ms after which the caller has given up; '' = never
--       2           time in µs for tests; '' = the server's clock. TTLs run on real time, so they
--                   are an hour longer then
--       then 6 a bucket: n, q, capacity, fingerprint, price (credits), max wait (µs)
-- Reply [1]         Redis time in µs
--       [1 + i]     credits of bucket i after refill, before the charge
--       then pairs  i, t - now: buckets whose time lies ahead, after a clock that went back, and all windows
--                   B + i, p: sliding windows of which something was used in the window before
--       and         -i, text: what is configured for bucket i; its credits are then those of the configured limit
--       Only [1]: the caller had given up, nothing was done.
-- TTL   time to full, and 2 ms since PX counts from a clock that Redis caches: forgetting is safe.
-- A refused call writes no bucket, and only lengthens a TTL that a changed limit made too short. The
-- exception is a bucket whose clock restarted, after a large step back of the server's: unless the new
-- time is kept, each call restarts it once more, and it never refills.
-- @include lib/now
-- @include lib/level
-- @include lib/configuration

local give_up_at, given = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = read_now(given)
local now_ms = math.floor(now / 1000)
if give_up_at and now_ms > give_up_at then return { now } end

local spare_ttl = given and 3600000 or 2
local buckets = #KEYS / 2
local reply = { now }
local more = {}
local level, at, before_it, kinds, unit, capacity, speed, mark, last = {}, {}, {}, {}, {}, {}, {}, {}, {}
local granted, restarted = true, {}
for i = 1, buckets do
  local a = 6 * i - 3
  local n, q, cap = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local fingerprint, price, max_wait = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]), tonumber(ARGV[a + 5])
  if not (price > 0 and price <= cap) then return redis.error_reply('RATELIMIT price out of range') end
  local stored = redis.call('MGET', KEYS[i], KEYS[buckets + i])
  local blocked = 0
  if stored[2] then
    local n2, q2, cap2, mark2
    blocked, n2, q2, cap2, mark2 = configured(stored[2], now)
    if n2 then n, q, cap, fingerprint, price = n2, q2, cap2, mark2, price / q * q2 end
    if n2 or blocked > 0 then
      more[#more + 1] = -i
      more[#more + 1] = stored[2]
    end
  end
  local kind = kind_of(fingerprint)
  local c, t, p, found, before = load_level(kind, stored[1], n, q, cap, now)
  if t < before then restarted[i] = true end
  reply[1 + i] = c
  if p > 0 then
    more[#more + 1] = buckets + i
    more[#more + 1] = p
  end
  if t > now or kind == 1 or kind == 2 then
    more[#more + 1] = i
    more[#more + 1] = t - now
  end
  local ok, _, left = take_level(kind, c, t, p, n, cap, price, max_wait, now)
  if not ok or price > cap or blocked > 0 then granted = false end
  level[i], at[i], before_it[i], kinds[i] = left, t, p, kind
  unit[i], capacity[i], speed[i], mark[i], last[i] = q, cap, n, fingerprint, found
end
for i = 1, buckets do
  if granted or restarted[i] or (last[i] and last[i] ~= mark[i] % 16777216) then
    local c = granted and level[i] or reply[1 + i]
    if granted or restarted[i] then
      save_level(KEYS[i], kinds[i], mark[i], c, at[i], before_it[i], speed[i], unit[i], capacity[i], now, spare_ttl)
    else
      local ttl = math.ceil(full_in(kinds[i], c, at[i], before_it[i], speed[i], capacity[i], now) / 1000) + spare_ttl
      if redis.call('PTTL', KEYS[i]) < ttl then redis.call('PEXPIRE', KEYS[i], ttl) end
    end
  end
end
for i = 1, #more do reply[#reply + 1] = more[i] end
return reply
