// Generated from lua/*.lua by tools/build-lua.mjs (`npm run build:lua`). Edit those, not this.

export const adjust = {
  name: 'rlAdjust_3b0d760b',
  sha1: '3b0d760b5850cd4d9fcff6fd249c1fc74669d73d',
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
local function window_start(now, length)
  return now - now % length
end
local function roll(c, t, p, length, cap, now)
  if now < t then
    if t - now > 2 * length then return c, window_start(now, length), p end
    return c, t, p
  end
  if now < t + length then return c, t, p end
  if now < t + 2 * length then return cap, t + length, math.min(cap, cap - c) end
  return cap, window_start(now, length), 0
end
local function reframe(used, t, p, from, length, cap, now)
  if from == length then return cap - used, t, math.min(cap, p) end
  local start = window_start(now, length)
  if now < t + from then return cap - used, math.max(t, start), math.min(cap, p) end
  return cap, start, now < t + 2 * from and math.min(cap, used) or 0
end
local function window_adjust(c, cap, credits)
  return math.min(cap, math.max(math.min(0, c), c + credits))
end
local function step_length(length, cap)
  return math.ceil((cap * length) / 4503599627370496)
end
local function weighted(t, p, length, cap, now)
  if p == 0 then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  local gone = math.floor(math.max(0, now - t) / step)
  return math.ceil((p * (steps - gone)) / steps)
end
local function fades_to(room, p, length, cap)
  if p <= room then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  return math.min(length, (steps - math.floor((room * steps) / p)) * step)
end
local function sliding_take(c, t, p, length, cap, cost, now)
  if cost <= c - weighted(t, p, length, cap, now) then return true, 0, c - cost end
  if cost <= c then
    local after = fades_to(c - cost, p, length, cap)
    if after < length then return false, t + after - now, c end
  end
  return false, t + length + fades_to(cap - cost, math.min(cap, cap - c), length, cap) - now, c
end
local function sliding_time_to_full(c, t, p, length, cap, now)
  if c < cap then return t + 2 * length - now end
  if p > 0 then return t + length - now end
  return 0
end
local function fixed_take(c, t, length, cost, now)
  if cost <= c then return true, 0, c - cost end
  return false, t + length - now, c
end
local function fixed_time_to_full(c, t, length, cap, now)
  if c >= cap then return 0 end
  return t + length - now
end
local function leaky_take(c, t, n, cap, cost, max_wait, now)
  local wait = c >= cap and 0 or math.ceil((cap - c) / n) + (t - now)
  if wait <= max_wait and c >= 0 then return true, wait, c - cost end
  return false, wait, c
end
local function leaky_give_back(c, t, n, cap, cost, starts_at)
  if starts_at < t then return c end
  local later = math.max(0, cap - c - (starts_at - t) * n - cost)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale, format)
  if value and #value == 28 and string.byte(value, 1) == (format or 17) then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q, format)
  return struct.pack('<BI3ddd', format or 17, fingerprint, c, t, q)
end
local function decode_windows(value, format)
  if not value or #value ~= 36 or string.byte(value, 1) ~= format then return nil end
  local _, fingerprint, used, t, length, p = struct.unpack('<BI3dddd', value)
  if used >= 0 and used <= 9007199254740992 and t >= 0 and t < 9007199254740992 and p >= 0 and p <= 9007199254740992
    and length >= 1 and length < 9007199254740992 then
    return used, t, p, length, fingerprint
  end
  return nil
end
local function encode_windows(format, fingerprint, used, t, length, p)
  return struct.pack('<BI3dddd', format, fingerprint, used, t, length, p)
end
local function kind_of(mark)
  return math.floor(mark / 16777216)
end
local function load_level(kind, value, n, q, cap, now)
  if kind == 0 or kind == 3 then
    local c, before, found = decode(value, q, cap, now, rescale, kind == 3 and 20 or 17)
    local t
    c, t = refill(c, before, n, cap, now)
    return c, t, 0, found, before
  end
  local used, before, p, length, found = decode_windows(value, 17 + kind)
  if not found then return cap, window_start(now, n), 0, nil, 0 end
  local c, t
  c, t, p = reframe(used, before, p, length, n, cap, now)
  c, t, p = roll(c, t, p, n, cap, now)
  if kind == 2 then p = 0 end
  return c, t, p, found, before
end
local function take_level(kind, c, t, p, n, cap, price, max_wait, now)
  if kind == 0 then return take(c, t, n, price, max_wait, now) end
  if kind == 1 then return sliding_take(c, t, p, n, cap, price, now) end
  if kind == 2 then return fixed_take(c, t, n, price, now) end
  return leaky_take(c, t, n, cap, price, max_wait, now)
end
local function full_in(kind, c, t, p, n, cap, now)
  if kind == 1 then return sliding_time_to_full(c, t, p, n, cap, now) end
  if kind == 2 then return fixed_time_to_full(c, t, n, cap, now) end
  return time_to_full(c, t, n, cap, now)
end
local function give_back_level(kind, c, t, n, cap, price, starts_at)
  if kind == 0 then return give_back(c, t, n, cap, price, starts_at) end
  if kind == 3 then return leaky_give_back(c, t, n, cap, price, starts_at) end
  return window_adjust(c, cap, price)
end
local function adjust_level(kind, c, cap, credits)
  if kind == 0 or kind == 3 then return adjust(c, cap, credits) end
  return window_adjust(c, cap, credits)
end
local function encode_level(kind, mark, c, t, p, n, q, cap)
  mark = mark % 16777216
  if kind == 0 then return encode(mark, c, t, q) end
  if kind == 3 then return encode(mark, c, t, q, 20) end
  return encode_windows(17 + kind, mark, cap - c, t, n, p)
end
local function save_level(key, kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  local full = full_in(kind, c, t, p, n, cap, now)
  if full <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, encode_level(kind, mark, c, t, p, n, q, cap), 'PX',
      string.format('%.0f', math.ceil(full / 1000) + spare_ttl), 'GET')
  end
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
  if stored[1] or credits < 0 then
    local kind = kind_of(mark)
    local c, t, p = load_level(kind, stored[1], n, q, cap, now)
    c = adjust_level(kind, c, cap, credits)
    save_level(KEYS[i], kind, mark, c, t, p, n, q, cap, now, spare_ttl)
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
  name: 'rlGiveBack_d13dda55',
  sha1: 'd13dda558f91de502f905aaf4dd79526c8831fa2',
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
local function window_start(now, length)
  return now - now % length
end
local function roll(c, t, p, length, cap, now)
  if now < t then
    if t - now > 2 * length then return c, window_start(now, length), p end
    return c, t, p
  end
  if now < t + length then return c, t, p end
  if now < t + 2 * length then return cap, t + length, math.min(cap, cap - c) end
  return cap, window_start(now, length), 0
end
local function reframe(used, t, p, from, length, cap, now)
  if from == length then return cap - used, t, math.min(cap, p) end
  local start = window_start(now, length)
  if now < t + from then return cap - used, math.max(t, start), math.min(cap, p) end
  return cap, start, now < t + 2 * from and math.min(cap, used) or 0
end
local function window_adjust(c, cap, credits)
  return math.min(cap, math.max(math.min(0, c), c + credits))
end
local function step_length(length, cap)
  return math.ceil((cap * length) / 4503599627370496)
end
local function weighted(t, p, length, cap, now)
  if p == 0 then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  local gone = math.floor(math.max(0, now - t) / step)
  return math.ceil((p * (steps - gone)) / steps)
end
local function fades_to(room, p, length, cap)
  if p <= room then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  return math.min(length, (steps - math.floor((room * steps) / p)) * step)
end
local function sliding_take(c, t, p, length, cap, cost, now)
  if cost <= c - weighted(t, p, length, cap, now) then return true, 0, c - cost end
  if cost <= c then
    local after = fades_to(c - cost, p, length, cap)
    if after < length then return false, t + after - now, c end
  end
  return false, t + length + fades_to(cap - cost, math.min(cap, cap - c), length, cap) - now, c
end
local function sliding_time_to_full(c, t, p, length, cap, now)
  if c < cap then return t + 2 * length - now end
  if p > 0 then return t + length - now end
  return 0
end
local function fixed_take(c, t, length, cost, now)
  if cost <= c then return true, 0, c - cost end
  return false, t + length - now, c
end
local function fixed_time_to_full(c, t, length, cap, now)
  if c >= cap then return 0 end
  return t + length - now
end
local function leaky_take(c, t, n, cap, cost, max_wait, now)
  local wait = c >= cap and 0 or math.ceil((cap - c) / n) + (t - now)
  if wait <= max_wait and c >= 0 then return true, wait, c - cost end
  return false, wait, c
end
local function leaky_give_back(c, t, n, cap, cost, starts_at)
  if starts_at < t then return c end
  local later = math.max(0, cap - c - (starts_at - t) * n - cost)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale, format)
  if value and #value == 28 and string.byte(value, 1) == (format or 17) then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q, format)
  return struct.pack('<BI3ddd', format or 17, fingerprint, c, t, q)
end
local function decode_windows(value, format)
  if not value or #value ~= 36 or string.byte(value, 1) ~= format then return nil end
  local _, fingerprint, used, t, length, p = struct.unpack('<BI3dddd', value)
  if used >= 0 and used <= 9007199254740992 and t >= 0 and t < 9007199254740992 and p >= 0 and p <= 9007199254740992
    and length >= 1 and length < 9007199254740992 then
    return used, t, p, length, fingerprint
  end
  return nil
end
local function encode_windows(format, fingerprint, used, t, length, p)
  return struct.pack('<BI3dddd', format, fingerprint, used, t, length, p)
end
local function kind_of(mark)
  return math.floor(mark / 16777216)
end
local function load_level(kind, value, n, q, cap, now)
  if kind == 0 or kind == 3 then
    local c, before, found = decode(value, q, cap, now, rescale, kind == 3 and 20 or 17)
    local t
    c, t = refill(c, before, n, cap, now)
    return c, t, 0, found, before
  end
  local used, before, p, length, found = decode_windows(value, 17 + kind)
  if not found then return cap, window_start(now, n), 0, nil, 0 end
  local c, t
  c, t, p = reframe(used, before, p, length, n, cap, now)
  c, t, p = roll(c, t, p, n, cap, now)
  if kind == 2 then p = 0 end
  return c, t, p, found, before
end
local function take_level(kind, c, t, p, n, cap, price, max_wait, now)
  if kind == 0 then return take(c, t, n, price, max_wait, now) end
  if kind == 1 then return sliding_take(c, t, p, n, cap, price, now) end
  if kind == 2 then return fixed_take(c, t, n, price, now) end
  return leaky_take(c, t, n, cap, price, max_wait, now)
end
local function full_in(kind, c, t, p, n, cap, now)
  if kind == 1 then return sliding_time_to_full(c, t, p, n, cap, now) end
  if kind == 2 then return fixed_time_to_full(c, t, n, cap, now) end
  return time_to_full(c, t, n, cap, now)
end
local function give_back_level(kind, c, t, n, cap, price, starts_at)
  if kind == 0 then return give_back(c, t, n, cap, price, starts_at) end
  if kind == 3 then return leaky_give_back(c, t, n, cap, price, starts_at) end
  return window_adjust(c, cap, price)
end
local function adjust_level(kind, c, cap, credits)
  if kind == 0 or kind == 3 then return adjust(c, cap, credits) end
  return window_adjust(c, cap, credits)
end
local function encode_level(kind, mark, c, t, p, n, q, cap)
  mark = mark % 16777216
  if kind == 0 then return encode(mark, c, t, q) end
  if kind == 3 then return encode(mark, c, t, q, 20) end
  return encode_windows(17 + kind, mark, cap - c, t, n, p)
end
local function save_level(key, kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  local full = full_in(kind, c, t, p, n, cap, now)
  if full <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, encode_level(kind, mark, c, t, p, n, q, cap), 'PX',
      string.format('%.0f', math.ceil(full / 1000) + spare_ttl), 'GET')
  end
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
  local kind = kind_of(mark)
  local c, t, p, found = load_level(kind, stored[1], n, q, cap, now)
  if found then
    if starts_at < 0 then
      starts_at = -starts_at
      if (kind == 1 or kind == 2) and starts_at < t then
        if kind == 1 and starts_at >= t - n then p = math.max(0, p - price) end
        price = 0
      end
      if kind == 3 then price = math.max(0, price - math.max(0, t - starts_at) * n) end
      starts_at = math.max(starts_at, t)
    end
    c = give_back_level(kind, c, t, n, cap, price, starts_at)
    save_level(KEYS[i], kind, mark, c, t, p, n, q, cap, now, spare_ttl)
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
  name: 'rlPeek_fd25526f',
  sha1: 'fd25526faad898aae5a3426704c0dddc84ea1344',
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
local function window_start(now, length)
  return now - now % length
end
local function roll(c, t, p, length, cap, now)
  if now < t then
    if t - now > 2 * length then return c, window_start(now, length), p end
    return c, t, p
  end
  if now < t + length then return c, t, p end
  if now < t + 2 * length then return cap, t + length, math.min(cap, cap - c) end
  return cap, window_start(now, length), 0
end
local function reframe(used, t, p, from, length, cap, now)
  if from == length then return cap - used, t, math.min(cap, p) end
  local start = window_start(now, length)
  if now < t + from then return cap - used, math.max(t, start), math.min(cap, p) end
  return cap, start, now < t + 2 * from and math.min(cap, used) or 0
end
local function window_adjust(c, cap, credits)
  return math.min(cap, math.max(math.min(0, c), c + credits))
end
local function step_length(length, cap)
  return math.ceil((cap * length) / 4503599627370496)
end
local function weighted(t, p, length, cap, now)
  if p == 0 then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  local gone = math.floor(math.max(0, now - t) / step)
  return math.ceil((p * (steps - gone)) / steps)
end
local function fades_to(room, p, length, cap)
  if p <= room then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  return math.min(length, (steps - math.floor((room * steps) / p)) * step)
end
local function sliding_take(c, t, p, length, cap, cost, now)
  if cost <= c - weighted(t, p, length, cap, now) then return true, 0, c - cost end
  if cost <= c then
    local after = fades_to(c - cost, p, length, cap)
    if after < length then return false, t + after - now, c end
  end
  return false, t + length + fades_to(cap - cost, math.min(cap, cap - c), length, cap) - now, c
end
local function sliding_time_to_full(c, t, p, length, cap, now)
  if c < cap then return t + 2 * length - now end
  if p > 0 then return t + length - now end
  return 0
end
local function fixed_take(c, t, length, cost, now)
  if cost <= c then return true, 0, c - cost end
  return false, t + length - now, c
end
local function fixed_time_to_full(c, t, length, cap, now)
  if c >= cap then return 0 end
  return t + length - now
end
local function leaky_take(c, t, n, cap, cost, max_wait, now)
  local wait = c >= cap and 0 or math.ceil((cap - c) / n) + (t - now)
  if wait <= max_wait and c >= 0 then return true, wait, c - cost end
  return false, wait, c
end
local function leaky_give_back(c, t, n, cap, cost, starts_at)
  if starts_at < t then return c end
  local later = math.max(0, cap - c - (starts_at - t) * n - cost)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale, format)
  if value and #value == 28 and string.byte(value, 1) == (format or 17) then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q, format)
  return struct.pack('<BI3ddd', format or 17, fingerprint, c, t, q)
end
local function decode_windows(value, format)
  if not value or #value ~= 36 or string.byte(value, 1) ~= format then return nil end
  local _, fingerprint, used, t, length, p = struct.unpack('<BI3dddd', value)
  if used >= 0 and used <= 9007199254740992 and t >= 0 and t < 9007199254740992 and p >= 0 and p <= 9007199254740992
    and length >= 1 and length < 9007199254740992 then
    return used, t, p, length, fingerprint
  end
  return nil
end
local function encode_windows(format, fingerprint, used, t, length, p)
  return struct.pack('<BI3dddd', format, fingerprint, used, t, length, p)
end
local function kind_of(mark)
  return math.floor(mark / 16777216)
end
local function load_level(kind, value, n, q, cap, now)
  if kind == 0 or kind == 3 then
    local c, before, found = decode(value, q, cap, now, rescale, kind == 3 and 20 or 17)
    local t
    c, t = refill(c, before, n, cap, now)
    return c, t, 0, found, before
  end
  local used, before, p, length, found = decode_windows(value, 17 + kind)
  if not found then return cap, window_start(now, n), 0, nil, 0 end
  local c, t
  c, t, p = reframe(used, before, p, length, n, cap, now)
  c, t, p = roll(c, t, p, n, cap, now)
  if kind == 2 then p = 0 end
  return c, t, p, found, before
end
local function take_level(kind, c, t, p, n, cap, price, max_wait, now)
  if kind == 0 then return take(c, t, n, price, max_wait, now) end
  if kind == 1 then return sliding_take(c, t, p, n, cap, price, now) end
  if kind == 2 then return fixed_take(c, t, n, price, now) end
  return leaky_take(c, t, n, cap, price, max_wait, now)
end
local function full_in(kind, c, t, p, n, cap, now)
  if kind == 1 then return sliding_time_to_full(c, t, p, n, cap, now) end
  if kind == 2 then return fixed_time_to_full(c, t, n, cap, now) end
  return time_to_full(c, t, n, cap, now)
end
local function give_back_level(kind, c, t, n, cap, price, starts_at)
  if kind == 0 then return give_back(c, t, n, cap, price, starts_at) end
  if kind == 3 then return leaky_give_back(c, t, n, cap, price, starts_at) end
  return window_adjust(c, cap, price)
end
local function adjust_level(kind, c, cap, credits)
  if kind == 0 or kind == 3 then return adjust(c, cap, credits) end
  return window_adjust(c, cap, credits)
end
local function encode_level(kind, mark, c, t, p, n, q, cap)
  mark = mark % 16777216
  if kind == 0 then return encode(mark, c, t, q) end
  if kind == 3 then return encode(mark, c, t, q, 20) end
  return encode_windows(17 + kind, mark, cap - c, t, n, p)
end
local function save_level(key, kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  local full = full_in(kind, c, t, p, n, cap, now)
  if full <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, encode_level(kind, mark, c, t, p, n, q, cap), 'PX',
      string.format('%.0f', math.ceil(full / 1000) + spare_ttl), 'GET')
  end
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
  name: 'rlTake_fa0b72ec',
  sha1: 'fa0b72ec73a599bd2864f38da4194857290088ed',
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
local function window_start(now, length)
  return now - now % length
end
local function roll(c, t, p, length, cap, now)
  if now < t then
    if t - now > 2 * length then return c, window_start(now, length), p end
    return c, t, p
  end
  if now < t + length then return c, t, p end
  if now < t + 2 * length then return cap, t + length, math.min(cap, cap - c) end
  return cap, window_start(now, length), 0
end
local function reframe(used, t, p, from, length, cap, now)
  if from == length then return cap - used, t, math.min(cap, p) end
  local start = window_start(now, length)
  if now < t + from then return cap - used, math.max(t, start), math.min(cap, p) end
  return cap, start, now < t + 2 * from and math.min(cap, used) or 0
end
local function window_adjust(c, cap, credits)
  return math.min(cap, math.max(math.min(0, c), c + credits))
end
local function step_length(length, cap)
  return math.ceil((cap * length) / 4503599627370496)
end
local function weighted(t, p, length, cap, now)
  if p == 0 then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  local gone = math.floor(math.max(0, now - t) / step)
  return math.ceil((p * (steps - gone)) / steps)
end
local function fades_to(room, p, length, cap)
  if p <= room then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  return math.min(length, (steps - math.floor((room * steps) / p)) * step)
end
local function sliding_take(c, t, p, length, cap, cost, now)
  if cost <= c - weighted(t, p, length, cap, now) then return true, 0, c - cost end
  if cost <= c then
    local after = fades_to(c - cost, p, length, cap)
    if after < length then return false, t + after - now, c end
  end
  return false, t + length + fades_to(cap - cost, math.min(cap, cap - c), length, cap) - now, c
end
local function sliding_time_to_full(c, t, p, length, cap, now)
  if c < cap then return t + 2 * length - now end
  if p > 0 then return t + length - now end
  return 0
end
local function fixed_take(c, t, length, cost, now)
  if cost <= c then return true, 0, c - cost end
  return false, t + length - now, c
end
local function fixed_time_to_full(c, t, length, cap, now)
  if c >= cap then return 0 end
  return t + length - now
end
local function leaky_take(c, t, n, cap, cost, max_wait, now)
  local wait = c >= cap and 0 or math.ceil((cap - c) / n) + (t - now)
  if wait <= max_wait and c >= 0 then return true, wait, c - cost end
  return false, wait, c
end
local function leaky_give_back(c, t, n, cap, cost, starts_at)
  if starts_at < t then return c end
  local later = math.max(0, cap - c - (starts_at - t) * n - cost)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale, format)
  if value and #value == 28 and string.byte(value, 1) == (format or 17) then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q, format)
  return struct.pack('<BI3ddd', format or 17, fingerprint, c, t, q)
end
local function decode_windows(value, format)
  if not value or #value ~= 36 or string.byte(value, 1) ~= format then return nil end
  local _, fingerprint, used, t, length, p = struct.unpack('<BI3dddd', value)
  if used >= 0 and used <= 9007199254740992 and t >= 0 and t < 9007199254740992 and p >= 0 and p <= 9007199254740992
    and length >= 1 and length < 9007199254740992 then
    return used, t, p, length, fingerprint
  end
  return nil
end
local function encode_windows(format, fingerprint, used, t, length, p)
  return struct.pack('<BI3dddd', format, fingerprint, used, t, length, p)
end
local function kind_of(mark)
  return math.floor(mark / 16777216)
end
local function load_level(kind, value, n, q, cap, now)
  if kind == 0 or kind == 3 then
    local c, before, found = decode(value, q, cap, now, rescale, kind == 3 and 20 or 17)
    local t
    c, t = refill(c, before, n, cap, now)
    return c, t, 0, found, before
  end
  local used, before, p, length, found = decode_windows(value, 17 + kind)
  if not found then return cap, window_start(now, n), 0, nil, 0 end
  local c, t
  c, t, p = reframe(used, before, p, length, n, cap, now)
  c, t, p = roll(c, t, p, n, cap, now)
  if kind == 2 then p = 0 end
  return c, t, p, found, before
end
local function take_level(kind, c, t, p, n, cap, price, max_wait, now)
  if kind == 0 then return take(c, t, n, price, max_wait, now) end
  if kind == 1 then return sliding_take(c, t, p, n, cap, price, now) end
  if kind == 2 then return fixed_take(c, t, n, price, now) end
  return leaky_take(c, t, n, cap, price, max_wait, now)
end
local function full_in(kind, c, t, p, n, cap, now)
  if kind == 1 then return sliding_time_to_full(c, t, p, n, cap, now) end
  if kind == 2 then return fixed_time_to_full(c, t, n, cap, now) end
  return time_to_full(c, t, n, cap, now)
end
local function give_back_level(kind, c, t, n, cap, price, starts_at)
  if kind == 0 then return give_back(c, t, n, cap, price, starts_at) end
  if kind == 3 then return leaky_give_back(c, t, n, cap, price, starts_at) end
  return window_adjust(c, cap, price)
end
local function adjust_level(kind, c, cap, credits)
  if kind == 0 or kind == 3 then return adjust(c, cap, credits) end
  return window_adjust(c, cap, credits)
end
local function encode_level(kind, mark, c, t, p, n, q, cap)
  mark = mark % 16777216
  if kind == 0 then return encode(mark, c, t, q) end
  if kind == 3 then return encode(mark, c, t, q, 20) end
  return encode_windows(17 + kind, mark, cap - c, t, n, p)
end
local function save_level(key, kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  local full = full_in(kind, c, t, p, n, cap, now)
  if full <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, encode_level(kind, mark, c, t, p, n, q, cap), 'PX',
      string.format('%.0f', math.ceil(full / 1000) + spare_ttl), 'GET')
  end
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
`,
} as const;

export const takeMany = {
  name: 'rlTakeMany_1c5271fa',
  sha1: '1c5271fad5c4766721529032464077e2d311119a',
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
local function window_start(now, length)
  return now - now % length
end
local function roll(c, t, p, length, cap, now)
  if now < t then
    if t - now > 2 * length then return c, window_start(now, length), p end
    return c, t, p
  end
  if now < t + length then return c, t, p end
  if now < t + 2 * length then return cap, t + length, math.min(cap, cap - c) end
  return cap, window_start(now, length), 0
end
local function reframe(used, t, p, from, length, cap, now)
  if from == length then return cap - used, t, math.min(cap, p) end
  local start = window_start(now, length)
  if now < t + from then return cap - used, math.max(t, start), math.min(cap, p) end
  return cap, start, now < t + 2 * from and math.min(cap, used) or 0
end
local function window_adjust(c, cap, credits)
  return math.min(cap, math.max(math.min(0, c), c + credits))
end
local function step_length(length, cap)
  return math.ceil((cap * length) / 4503599627370496)
end
local function weighted(t, p, length, cap, now)
  if p == 0 then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  local gone = math.floor(math.max(0, now - t) / step)
  return math.ceil((p * (steps - gone)) / steps)
end
local function fades_to(room, p, length, cap)
  if p <= room then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  return math.min(length, (steps - math.floor((room * steps) / p)) * step)
end
local function sliding_take(c, t, p, length, cap, cost, now)
  if cost <= c - weighted(t, p, length, cap, now) then return true, 0, c - cost end
  if cost <= c then
    local after = fades_to(c - cost, p, length, cap)
    if after < length then return false, t + after - now, c end
  end
  return false, t + length + fades_to(cap - cost, math.min(cap, cap - c), length, cap) - now, c
end
local function sliding_time_to_full(c, t, p, length, cap, now)
  if c < cap then return t + 2 * length - now end
  if p > 0 then return t + length - now end
  return 0
end
local function fixed_take(c, t, length, cost, now)
  if cost <= c then return true, 0, c - cost end
  return false, t + length - now, c
end
local function fixed_time_to_full(c, t, length, cap, now)
  if c >= cap then return 0 end
  return t + length - now
end
local function leaky_take(c, t, n, cap, cost, max_wait, now)
  local wait = c >= cap and 0 or math.ceil((cap - c) / n) + (t - now)
  if wait <= max_wait and c >= 0 then return true, wait, c - cost end
  return false, wait, c
end
local function leaky_give_back(c, t, n, cap, cost, starts_at)
  if starts_at < t then return c end
  local later = math.max(0, cap - c - (starts_at - t) * n - cost)
  return math.min(cap, c + math.max(0, cost - later))
end
local function decode(value, q, cap, now, rescale, format)
  if value and #value == 28 and string.byte(value, 1) == (format or 17) then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end
local function encode(fingerprint, c, t, q, format)
  return struct.pack('<BI3ddd', format or 17, fingerprint, c, t, q)
end
local function decode_windows(value, format)
  if not value or #value ~= 36 or string.byte(value, 1) ~= format then return nil end
  local _, fingerprint, used, t, length, p = struct.unpack('<BI3dddd', value)
  if used >= 0 and used <= 9007199254740992 and t >= 0 and t < 9007199254740992 and p >= 0 and p <= 9007199254740992
    and length >= 1 and length < 9007199254740992 then
    return used, t, p, length, fingerprint
  end
  return nil
end
local function encode_windows(format, fingerprint, used, t, length, p)
  return struct.pack('<BI3dddd', format, fingerprint, used, t, length, p)
end
local function kind_of(mark)
  return math.floor(mark / 16777216)
end
local function load_level(kind, value, n, q, cap, now)
  if kind == 0 or kind == 3 then
    local c, before, found = decode(value, q, cap, now, rescale, kind == 3 and 20 or 17)
    local t
    c, t = refill(c, before, n, cap, now)
    return c, t, 0, found, before
  end
  local used, before, p, length, found = decode_windows(value, 17 + kind)
  if not found then return cap, window_start(now, n), 0, nil, 0 end
  local c, t
  c, t, p = reframe(used, before, p, length, n, cap, now)
  c, t, p = roll(c, t, p, n, cap, now)
  if kind == 2 then p = 0 end
  return c, t, p, found, before
end
local function take_level(kind, c, t, p, n, cap, price, max_wait, now)
  if kind == 0 then return take(c, t, n, price, max_wait, now) end
  if kind == 1 then return sliding_take(c, t, p, n, cap, price, now) end
  if kind == 2 then return fixed_take(c, t, n, price, now) end
  return leaky_take(c, t, n, cap, price, max_wait, now)
end
local function full_in(kind, c, t, p, n, cap, now)
  if kind == 1 then return sliding_time_to_full(c, t, p, n, cap, now) end
  if kind == 2 then return fixed_time_to_full(c, t, n, cap, now) end
  return time_to_full(c, t, n, cap, now)
end
local function give_back_level(kind, c, t, n, cap, price, starts_at)
  if kind == 0 then return give_back(c, t, n, cap, price, starts_at) end
  if kind == 3 then return leaky_give_back(c, t, n, cap, price, starts_at) end
  return window_adjust(c, cap, price)
end
local function adjust_level(kind, c, cap, credits)
  if kind == 0 or kind == 3 then return adjust(c, cap, credits) end
  return window_adjust(c, cap, credits)
end
local function encode_level(kind, mark, c, t, p, n, q, cap)
  mark = mark % 16777216
  if kind == 0 then return encode(mark, c, t, q) end
  if kind == 3 then return encode(mark, c, t, q, 20) end
  return encode_windows(17 + kind, mark, cap - c, t, n, p)
end
local function save_level(key, kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  local full = full_in(kind, c, t, p, n, cap, now)
  if full <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, encode_level(kind, mark, c, t, p, n, q, cap), 'PX',
      string.format('%.0f', math.ceil(full / 1000) + spare_ttl), 'GET')
  end
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
`,
} as const;
