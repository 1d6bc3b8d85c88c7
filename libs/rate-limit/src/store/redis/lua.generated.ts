// Generated from lua/*.lua by tools/build-lua.mjs (`npm run build:lua`). Edit those, not this.

export const adjust = {
  name: 'rlAdjust_be825cfc',
  sha1: 'be825cfca79610998d5a94e4cb8ca6d41a60e8ed',
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
local function adjust(c, cap, credits)
  return math.max(-2251799813685248, math.min(cap, c + credits))
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
local function configured(text, now)
  if not text then return 0 end
  local blocked, ends, n, q, cap, mark, json = string.match(text, '^(%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)\\n(.*)$')
  if not blocked then return 0 end
  blocked, ends, n = tonumber(blocked), tonumber(ends), tonumber(n)
  if blocked <= now then blocked = 0 end
  if n == 0 or (ends >= 0 and ends <= now) then return blocked end
  return blocked, n, tonumber(q), tonumber(cap), tonumber(mark), ends, json
end
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
  local c, t = decode(stored[1], q, cap, now, rescale)
  c, t = refill(c, t, n, cap, now)
  c = adjust(c, cap, credits)
  if c >= cap then
    redis.call('DEL', KEYS[i])
  else
    local ttl = math.ceil(time_to_full(c, t, n, cap, now) / 1000) + spare_ttl
    redis.call('SET', KEYS[i], encode(mark, c, t, q), 'PX', string.format('%.0f', ttl))
  end
end
return 1
`,
} as const;

export const configuration = {
  name: 'rlConfiguration_46f66825',
  sha1: '46f66825d35872c955d033a1e8ab9d90b762a0cf',
  keys: 1,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
return { read_now(tonumber(ARGV[1])), redis.call('GET', KEYS[1]) }
`,
} as const;

export const configure = {
  name: 'rlConfigure_85f9c510',
  sha1: '85f9c510caaa94712455e260cb652f29c31b1498',
  keys: 1,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function configured(text, now)
  if not text then return 0 end
  local blocked, ends, n, q, cap, mark, json = string.match(text, '^(%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)\\n(.*)$')
  if not blocked then return 0 end
  blocked, ends, n = tonumber(blocked), tonumber(ends), tonumber(n)
  if blocked <= now then blocked = 0 end
  if n == 0 or (ends >= 0 and ends <= now) then return blocked end
  return blocked, n, tonumber(q), tonumber(cap), tonumber(mark), ends, json
end
local given, half, lasts = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
if not (lasts >= 0 or (lasts == -1 and half == 'limit')) then return redis.error_reply('RATELIMIT time out of range') end
local now = read_now(given)
local blocked, n, q, cap, mark, ends, json = configured(redis.call('GET', KEYS[1]), now)
local numbers = n and string.format('%.0f %.0f %.0f %.0f', n, q, cap, mark) or '0 0 0 0'
local until_us = lasts > 0 and now + lasts or lasts
if half == 'block' then
  blocked = until_us
elseif until_us == 0 then
  n, numbers, ends, json = nil, '0 0 0 0', 0, ''
else
  n, numbers, ends, json = 1, ARGV[4], until_us, ARGV[5]
end
ends = n and ends or 0
if blocked == 0 and not n then
  redis.call('DEL', KEYS[1])
  return 1
end
local text = string.format('%.0f %.0f ', blocked, ends) .. numbers .. '\\n' .. (json or '')
if ends == -1 then
  redis.call('SET', KEYS[1], text)
else
  local ttl = math.ceil((math.max(blocked, ends) - now) / 1000) + (given and 3600000 or 2)
  redis.call('SET', KEYS[1], text, 'PX', string.format('%.0f', ttl))
end
return 1
`,
} as const;

export const giveBack = {
  name: 'rlGiveBack_88d31d32',
  sha1: '88d31d3277d4d118d1d15687ab6039b3bf77a3ad',
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
local function adjust(c, cap, credits)
  return math.max(-2251799813685248, math.min(cap, c + credits))
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
local function configured(text, now)
  if not text then return 0 end
  local blocked, ends, n, q, cap, mark, json = string.match(text, '^(%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)\\n(.*)$')
  if not blocked then return 0 end
  blocked, ends, n = tonumber(blocked), tonumber(ends), tonumber(n)
  if blocked <= now then blocked = 0 end
  if n == 0 or (ends >= 0 and ends <= now) then return blocked end
  return blocked, n, tonumber(q), tonumber(cap), tonumber(mark), ends, json
end
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
  local c, t, found = decode(stored[1], q, cap, now, rescale)
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
  name: 'rlPeek_43a3e320',
  sha1: '43a3e3209f7392d4f14e7ef953171b4160c7f8e7',
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
local function adjust(c, cap, credits)
  return math.max(-2251799813685248, math.min(cap, c + credits))
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
local function configured(text, now)
  if not text then return 0 end
  local blocked, ends, n, q, cap, mark, json = string.match(text, '^(%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)\\n(.*)$')
  if not blocked then return 0 end
  blocked, ends, n = tonumber(blocked), tonumber(ends), tonumber(n)
  if blocked <= now then blocked = 0 end
  if n == 0 or (ends >= 0 and ends <= now) then return blocked end
  return blocked, n, tonumber(q), tonumber(cap), tonumber(mark), ends, json
end
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
  name: 'rlTake_792b1ce3',
  sha1: '792b1ce3908de2dda7e7e2bab33b5769b3d3d5a4',
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
local function adjust(c, cap, credits)
  return math.max(-2251799813685248, math.min(cap, c + credits))
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
local function configured(text, now)
  if not text then return 0 end
  local blocked, ends, n, q, cap, mark, json = string.match(text, '^(%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)\\n(.*)$')
  if not blocked then return 0 end
  blocked, ends, n = tonumber(blocked), tonumber(ends), tonumber(n)
  if blocked <= now then blocked = 0 end
  if n == 0 or (ends >= 0 and ends <= now) then return blocked end
  return blocked, n, tonumber(q), tonumber(cap), tonumber(mark), ends, json
end
local give_up_at, given = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = read_now(given)
local now_ms = math.floor(now / 1000)
if give_up_at and now_ms > give_up_at then return { now } end
local spare_ttl = given and 3600000 or 2
local buckets = #KEYS / 2
local reply = { now }
local more = {}
local level, at, unit, capacity, speed, mark, last = {}, {}, {}, {}, {}, {}, {}
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
  local c, before, found = decode(stored[1], q, cap, now, rescale)
  local t
  c, t = refill(c, before, n, cap, now)
  if t < before then restarted[i] = true end
  reply[1 + i] = c
  if t > now then
    more[#more + 1] = i
    more[#more + 1] = t - now
  end
  local ok, _, left = take(c, t, n, price, max_wait, now)
  if not ok or price > cap or blocked > 0 then granted = false end
  level[i], at[i], unit[i], capacity[i], speed[i], mark[i], last[i] = left, t, q, cap, n, fingerprint, found
end
for i = 1, buckets do
  if granted or restarted[i] or (last[i] and last[i] ~= mark[i]) then
    local c = granted and level[i] or reply[1 + i]
    local ttl = math.ceil(time_to_full(c, at[i], speed[i], capacity[i], now) / 1000) + spare_ttl
    if granted or restarted[i] then
      redis.call('SET', KEYS[i], encode(mark[i], c, at[i], unit[i]), 'PX', ttl)
    elseif redis.call('PTTL', KEYS[i]) < ttl then
      redis.call('PEXPIRE', KEYS[i], ttl)
    end
  end
end
for i = 1, #more do reply[#reply + 1] = more[i] end
return reply
`,
} as const;
