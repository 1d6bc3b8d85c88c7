-- Makes many calls at once, one after another: each charges its buckets all or none. What `take` does, for calls that
-- were waiting while another one was on its way. Twin of take-batch.ts, which repeats the calls on the levels.
-- KEYS  1..B        buckets, distinct; of a cluster: of one slot
--       B+1..2B     what is configured for each
-- ARGV  1, 2        as of take
--       then shapes: calls that differ by their buckets alone
--         s, runs, first     buckets of each call; how many follow; above 0: they charge bucket `first` and those after it,
--                            once each, and no runs follow
--         6 a bucket         as of take
--         runs               times, then s numbers of buckets
-- Reply                      as of take; the credits are those before the first call
-- TTLs and what is written   as of take. A bucket is written once, whatever the number of its calls.
-- @include lib/now
-- @include lib/level
-- @include lib/configuration

local give_up_at, given = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = read_now(given)
local now_ms = math.floor(now / 1000)
if give_up_at and now_ms > give_up_at then return { now } end

local buckets = #KEYS / 2
local stored = redis.call('MGET', unpack(KEYS))
local reply = { now }
local more = {}
local level, at, before_it, kinds, unit, capacity, speed, mark, last = {}, {}, {}, {}, {}, {}, {}, {}, {}
local blocked, charged, restarted = {}, {}, {}

local function open(i, n, q, cap, fingerprint)
  local text = stored[buckets + i]
  if text then
    local stop, n2, q2, cap2, mark2 = configured(text, now)
    if n2 then n, q, cap, fingerprint = n2, q2, cap2, mark2 end
    if n2 or stop > 0 then
      more[#more + 1] = -i
      more[#more + 1] = text
    end
    if stop > 0 then blocked[i] = true end
  end
  local kind = kind_of(fingerprint)
  local c, t, p, found, before = load_level(kind, stored[i], n, q, cap, now)
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
  level[i], at[i], before_it[i], kinds[i] = c, t, p, kind
  unit[i], capacity[i], speed[i], mark[i], last[i] = q, cap, n, fingerprint, found
end

-- Credits that are left of bucket i after a charge; nil: it refuses.
local function left(i, price, q, max_wait)
  local cap = capacity[i]
  if unit[i] ~= q then price = price / q * unit[i] end
  local ok, _, c = take_level(kinds[i], level[i], at[i], before_it[i], speed[i], cap, price, max_wait, now)
  if ok and price <= cap and not blocked[i] then return c end
  return nil
end

local a, args = 3, #ARGV
while a <= args do
  local size, runs, first = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  a = a + 3
  local n, q, cap, fingerprint, price, max_wait = {}, {}, {}, {}, {}, {}
  for j = 1, size do
    n[j], q[j], cap[j] = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
    fingerprint[j], price[j], max_wait[j] = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]), tonumber(ARGV[a + 5])
    a = a + 6
  end
  local which, after = {}, {}
  for run = 1, runs do
    local times = 1
    if first == 0 then
      times = tonumber(ARGV[a])
      for j = 1, size do which[j] = tonumber(ARGV[a + j]) end
      a = a + 1 + size
    else
      for j = 1, size do which[j] = first + (run - 1) * size + j - 1 end
    end
    for j = 1, size do
      local i = which[j]
      if not level[i] then open(i, n[j], q[j], cap[j], fingerprint[j]) end
    end
    for _ = 1, times do
      local granted = true
      for j = 1, size do
        local c = left(which[j], price[j], q[j], max_wait[j])
        if not c then
          granted = false
          break
        end
        after[j] = c
      end
      if not granted then break end
      for j = 1, size do
        level[which[j]] = after[j]
        charged[which[j]] = true
      end
    end
  end
end

local spare_ttl = given and 3600000 or 2
for i = 1, buckets do
  if charged[i] or restarted[i] then
    save_level(KEYS[i], kinds[i], mark[i], level[i], at[i], before_it[i], speed[i], unit[i], capacity[i], now, spare_ttl)
  elseif last[i] and last[i] ~= mark[i] % 16777216 then
    local ttl = math.ceil(full_in(kinds[i], level[i], at[i], before_it[i], speed[i], capacity[i], now) / 1000) + spare_ttl
    if redis.call('PTTL', KEYS[i]) < ttl then redis.call('PEXPIRE', KEYS[i], ttl) end
  end
end
for i = 1, #more do reply[#reply + 1] = more[i] end
return reply
