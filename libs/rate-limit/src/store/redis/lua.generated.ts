// Generated from lua/*.lua by tools/build-lua.mjs (`npm run build:lua`). Edit those, not this.

export const giveBack = {
  name: 'rlGiveBack_85ece5ec',
  sha1: '85ece5ec250b2039983217afa087abc80a1b8cd0',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function refill(c, t, n, cap, now)
  local missing = cap - c
  if missing <= 0 then return cap, now end
  if now >= t then
    local gain = (now - t) * n
    if gain >= missing then return cap, now end
    return c + gain, now
  end
  if (t - now) * n > missing then return c, now end
  return c, t
end
local function rescale(c, from, to, cap)
  local k = math.floor(c / from)
  return math.max(-2251799813685248, math.min(cap, k * to))
end
local function take(c, t, n, cost, max_wait, now)
  if cost <= c then return true, 0, c - cost end
  local wait = math.ceil((cost - c) / n) + (t - now)
  if wait <= max_wait and cost - c <= 2251799813685248 then return true, wait, c - cost end
  return false, wait, c
end
local function time_to_full(c, t, n, cap, now)
  if c >= cap then return 0 end
  return math.ceil((cap - c) / n) + (t - now)
end
local function give_back(c, t, n, cap, cost, starts_at)
  local later = math.max(0, math.max(0, -c) - math.max(0, starts_at - t) * n)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale)
  if value and #value == 28 and string.byte(value, 1) == 17 then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q)
  return struct.pack('<BI3ddd', 17, fingerprint, c, t, q)
end
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
`,
} as const;

export const hold = {
  name: 'rlHold_d8dcc196',
  sha1: 'd8dcc196930de1f2022123269111b2aa5a50e709',
  keys: 1,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local id, max, lease, given = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not (max >= 1 and lease > 0) then return redis.error_reply('RATELIMIT slots or lease out of range') end
local now = read_now(given)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
local held = redis.call('ZCARD', KEYS[1])
if held >= max and not redis.call('ZSCORE', KEYS[1], id) then return { 0, held } end
held = held + redis.call('ZADD', KEYS[1], string.format('%.0f', now + lease), id)
local ttl = math.ceil(lease / 1000) + (given and 3600000 or 2)
if redis.call('PTTL', KEYS[1]) < ttl then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl)) end
return { 1, held }
`,
} as const;

export const peek = {
  name: 'rlPeek_2ba3190d',
  sha1: '2ba3190d08186a3b2d74f731a9af8a625998a965',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function refill(c, t, n, cap, now)
  local missing = cap - c
  if missing <= 0 then return cap, now end
  if now >= t then
    local gain = (now - t) * n
    if gain >= missing then return cap, now end
    return c + gain, now
  end
  if (t - now) * n > missing then return c, now end
  return c, t
end
local function rescale(c, from, to, cap)
  local k = math.floor(c / from)
  return math.max(-2251799813685248, math.min(cap, k * to))
end
local function take(c, t, n, cost, max_wait, now)
  if cost <= c then return true, 0, c - cost end
  local wait = math.ceil((cost - c) / n) + (t - now)
  if wait <= max_wait and cost - c <= 2251799813685248 then return true, wait, c - cost end
  return false, wait, c
end
local function time_to_full(c, t, n, cap, now)
  if c >= cap then return 0 end
  return math.ceil((cap - c) / n) + (t - now)
end
local function give_back(c, t, n, cap, cost, starts_at)
  local later = math.max(0, math.max(0, -c) - math.max(0, starts_at - t) * n)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale)
  if value and #value == 28 and string.byte(value, 1) == 17 then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q)
  return struct.pack('<BI3ddd', 17, fingerprint, c, t, q)
end
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
`,
} as const;

export const release = {
  name: 'rlRelease_9c7c3d46',
  sha1: '9c7c3d46039a2254cb0371dc0743caec513042fa',
  keys: 1,
  lua: `return redis.call('ZREM', KEYS[1], ARGV[1])
`,
} as const;

export const take = {
  name: 'rlTake_a9059fb8',
  sha1: 'a9059fb8bc174bde53d9d1fd3cddfc80d903e804',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function refill(c, t, n, cap, now)
  local missing = cap - c
  if missing <= 0 then return cap, now end
  if now >= t then
    local gain = (now - t) * n
    if gain >= missing then return cap, now end
    return c + gain, now
  end
  if (t - now) * n > missing then return c, now end
  return c, t
end
local function rescale(c, from, to, cap)
  local k = math.floor(c / from)
  return math.max(-2251799813685248, math.min(cap, k * to))
end
local function take(c, t, n, cost, max_wait, now)
  if cost <= c then return true, 0, c - cost end
  local wait = math.ceil((cost - c) / n) + (t - now)
  if wait <= max_wait and cost - c <= 2251799813685248 then return true, wait, c - cost end
  return false, wait, c
end
local function time_to_full(c, t, n, cap, now)
  if c >= cap then return 0 end
  return math.ceil((cap - c) / n) + (t - now)
end
local function give_back(c, t, n, cap, cost, starts_at)
  local later = math.max(0, math.max(0, -c) - math.max(0, starts_at - t) * n)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale)
  if value and #value == 28 and string.byte(value, 1) == 17 then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q)
  return struct.pack('<BI3ddd', 17, fingerprint, c, t, q)
end
local give_up_at, given = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = read_now(given)
local now_ms = math.floor(now / 1000)
if give_up_at and now_ms > give_up_at then return { now } end
local spare_ttl = given and 3600000 or 2
local reply = { now }
local skews = {}
local level, at, unit, capacity, speed, mark, stored = {}, {}, {}, {}, {}, {}, {}
local granted, restarted = true, {}
for i = 1, #KEYS do
  local a = 6 * i - 3
  local n, q, cap = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local fingerprint, price, max_wait = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4]), tonumber(ARGV[a + 5])
  if not (price > 0 and price <= cap) then return redis.error_reply('RATELIMIT price out of range') end
  local c, before, found = decode(redis.call('GET', KEYS[i]), q, cap, now, rescale)
  local t
  c, t = refill(c, before, n, cap, now)
  if t < before then restarted[i] = true end
  reply[1 + i] = c
  if t > now then
    skews[#skews + 1] = i
    skews[#skews + 1] = t - now
  end
  local ok, _, left = take(c, t, n, price, max_wait, now)
  if not ok then granted = false end
  level[i], at[i], unit[i], capacity[i], speed[i], mark[i], stored[i] = left, t, q, cap, n, fingerprint, found
end
for i = 1, #KEYS do
  if granted or restarted[i] or (stored[i] and stored[i] ~= mark[i]) then
    local c = granted and level[i] or reply[1 + i]
    local ttl = math.ceil(time_to_full(c, at[i], speed[i], capacity[i], now) / 1000) + spare_ttl
    if granted or restarted[i] then
      redis.call('SET', KEYS[i], encode(mark[i], c, at[i], unit[i]), 'PX', ttl)
    elseif redis.call('PTTL', KEYS[i]) < ttl then
      redis.call('PEXPIRE', KEYS[i], ttl)
    end
  end
end
for i = 1, #skews do reply[#reply + 1] = skews[i] end
return reply
`,
} as const;
