// Generated from lua/*.lua by tools/build-lua.mjs (`npm run build:lua`). Edit those, not this.

export const drop = {
  name: 'rlDrop_1f572b0a',
  sha1: '1f572b0a183e7b72ee7e5be3dc86c17b360c7029',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end
local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end
local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
local COUNTED = { g = 'g', r = 'r', f = 'f', x = 'f' }
local SUMMED = { w = 'wc', g = 'h' }
local function count(k, job, sign)
  if COUNTED[job.state] then redis.call('HINCRBY', k.state, COUNTED[job.state], sign) end
  if SUMMED[job.state] then redis.call('HINCRBY', k.state, SUMMED[job.state], sign * job.cost) end
end
local function leave_state(k, id, job)
  count(k, job, -1)
  if job.state == 'w' then redis.call('ZREM', k.wait, id) end
  if job.state == 'w' or job.state == 'x' then redis.call('ZREM', k.pending, id) end
end
local function enter_state(k, id, job, state, at, now_ms)
  job.state, job.at = state, at
  count(k, job, 1)
  if state == 'w' then
    redis.call('ZADD', k.wait, job.seq, id)
    redis.call('ZREM', k.open, id)
  else
    redis.call('ZADD', k.open, now_ms, id)
  end
  if state == 'w' or state == 'x' then
    redis.call('ZADD', k.pending, job.deadline > 0 and job.deadline or '+inf', id)
  end
  redis.call('HSET', k.jobs, id, format_record(job))
end
local function change_state(k, id, job, state, at, now_ms)
  leave_state(k, id, job)
  enter_state(k, id, job, state, at, now_ms)
end
local function forget_job(k, id, job)
  leave_state(k, id, job)
  redis.call('HDEL', k.jobs, id)
  redis.call('ZREM', k.open, id)
end
local function wait_turn(k, id, job, now, lane_record, channel)
  enter_state(k, id, job, 'w', now, math.floor(now / 1000))
  redis.call('HSET', k.lanes, job.lane, lane_record)
  if redis.call('ZRANGE', k.wait, 0, 0)[1] == id then
    redis.call('ZADD', k.next, now, job.lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function unblock(k, lane, now, channel)
  if redis.call('HDEL', k.state, 'blocked') == 1 then
    redis.call('ZADD', k.next, now, lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function tidy(k, lane, now)
  local s = redis.call('HMGET', k.state, 'g', 'r', 'f', 'pause', 'claim')
  for i = 1, 3 do
    if s[i] and tonumber(s[i]) > 0 then return end
  end
  if redis.call('ZCARD', k.wait) > 0 or s[5] then return end
  local pause = tonumber(s[4] or 0)
  if pause > now then
    redis.call('ZADD', k.next, pause, lane)
    return
  end
  redis.call('ZREM', k.next, lane)
  redis.call('HDEL', k.lanes, lane)
  redis.call('DEL', k.state)
end
local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
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
local function load_bucket(key, at, now, held, lost)
  local q = tonumber(ARGV[at + 1])
  local largest = tonumber(ARGV[at + 2])
  local b = { key = key, n = tonumber(ARGV[at]), q = q, largest = largest, held = held, cap = largest - held * q,
    fingerprint = tonumber(ARGV[at + 3]) }
  local c, t, found = decode(redis.call('GET', key), q, b.cap, now, rescale)
  if not found and lost then c, t = math.min(0, b.cap), lost end
  b.c, b.t = refill(c, t, b.n, b.cap, now)
  return b
end
local function lost_at(k, now)
  local m = redis.call('HMGET', k.meta, 'lost', 'epoch')
  return tonumber(m[1]) or (not m[2] and now) or nil
end
local function wait_for(b, cost, ahead, now)
  local price = math.min(cost * b.q, b.largest)
  local _, wait = take(b.c - ahead * b.q, b.t, b.n, price, 0, now)
  return wait
end
local function charge(b, cost)
  b.c = math.max(-2251799813685248, b.c - cost * b.q)
  b.changed = true
end
local function hold(b, cost)
  b.held = b.held + cost
  b.cap = b.cap - cost * b.q
  b.changed = true
end
local function return_cost(b, cost, starts_at)
  b.c = give_back(b.c, b.t, b.n, b.cap, cost * b.q, starts_at)
  b.changed = true
end
local function save_bucket(b, now)
  if not b or not b.changed then return end
  local value = encode(b.fingerprint, b.c, b.t, b.q)
  if b.held > 0 then
    redis.call('SET', b.key, value)
  elseif b.c >= b.cap then
    redis.call('DEL', b.key)
  else
    redis.call('SET', b.key, value, 'PX', math.ceil(time_to_full(b.c, b.t, b.n, b.cap, now) / 1000) + 2)
  end
end
local k = lane_keys(KEYS)
local id, lane, failed = ARGV[1], ARGV[2], ARGV[8] ~= ''
local job = parse_record(redis.call('HGET', k.jobs, id))
if (job and job.state == 'r' and ARGV[4] ~= '1') or not (job or failed) then return 0 end
if ARGV[5] ~= '' then
  redis.call('SET', KEYS[12], ARGV[5], 'PX', ARGV[6])
  redis.call('PUBLISH', ARGV[7], id)
end
if ARGV[8] == 'key' then
  local entry = redis.call('GET', KEYS[13])
  if entry and string.sub(entry, 1, #id + 1) == id .. '|' then redis.call('DEL', KEYS[13]) end
end
if not job then return 0 end
local now = read_now(nil)
local s = redis.call('HMGET', k.state, 'h', 'claim', 'cp')
local lost = lost_at(k, now)
local held = tonumber(s[1] or 0)
local share = ARGV[13] ~= '' and load_bucket(k.share, 13, now, held, lost) or nil
local bucket = share and load_bucket(k.bucket, 9, now, 0) or load_bucket(k.bucket, 9, now, held, lost)
local function give_back(cost, at)
  return_cost(bucket, cost, at)
  if share then return_cost(share, cost, at) end
end
forget_job(k, id, job)
redis.call('ZREM', k.adding, id)
if job.state == 'g' then
  hold(share or bucket, -job.cost)
  give_back(job.cost, job.at)
end
if s[2] and redis.call('ZCARD', k.wait) == 0 then
  give_back(tonumber(s[3]), tonumber(s[2]))
  redis.call('HDEL', k.state, 'claim', 'cp')
end
save_bucket(bucket, now)
save_bucket(share, now)
unblock(k, lane, now, ARGV[3])
tidy(k, lane, now)
return 1
`,
} as const;

export const finish = {
  name: 'rlFinish_39de0db7',
  sha1: '39de0db7f7e08fde072e179f8f8f09a3d541c6d8',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end
local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end
local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
local COUNTED = { g = 'g', r = 'r', f = 'f', x = 'f' }
local SUMMED = { w = 'wc', g = 'h' }
local function count(k, job, sign)
  if COUNTED[job.state] then redis.call('HINCRBY', k.state, COUNTED[job.state], sign) end
  if SUMMED[job.state] then redis.call('HINCRBY', k.state, SUMMED[job.state], sign * job.cost) end
end
local function leave_state(k, id, job)
  count(k, job, -1)
  if job.state == 'w' then redis.call('ZREM', k.wait, id) end
  if job.state == 'w' or job.state == 'x' then redis.call('ZREM', k.pending, id) end
end
local function enter_state(k, id, job, state, at, now_ms)
  job.state, job.at = state, at
  count(k, job, 1)
  if state == 'w' then
    redis.call('ZADD', k.wait, job.seq, id)
    redis.call('ZREM', k.open, id)
  else
    redis.call('ZADD', k.open, now_ms, id)
  end
  if state == 'w' or state == 'x' then
    redis.call('ZADD', k.pending, job.deadline > 0 and job.deadline or '+inf', id)
  end
  redis.call('HSET', k.jobs, id, format_record(job))
end
local function change_state(k, id, job, state, at, now_ms)
  leave_state(k, id, job)
  enter_state(k, id, job, state, at, now_ms)
end
local function forget_job(k, id, job)
  leave_state(k, id, job)
  redis.call('HDEL', k.jobs, id)
  redis.call('ZREM', k.open, id)
end
local function wait_turn(k, id, job, now, lane_record, channel)
  enter_state(k, id, job, 'w', now, math.floor(now / 1000))
  redis.call('HSET', k.lanes, job.lane, lane_record)
  if redis.call('ZRANGE', k.wait, 0, 0)[1] == id then
    redis.call('ZADD', k.next, now, job.lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function unblock(k, lane, now, channel)
  if redis.call('HDEL', k.state, 'blocked') == 1 then
    redis.call('ZADD', k.next, now, lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function tidy(k, lane, now)
  local s = redis.call('HMGET', k.state, 'g', 'r', 'f', 'pause', 'claim')
  for i = 1, 3 do
    if s[i] and tonumber(s[i]) > 0 then return end
  end
  if redis.call('ZCARD', k.wait) > 0 or s[5] then return end
  local pause = tonumber(s[4] or 0)
  if pause > now then
    redis.call('ZADD', k.next, pause, lane)
    return
  end
  redis.call('ZREM', k.next, lane)
  redis.call('HDEL', k.lanes, lane)
  redis.call('DEL', k.state)
end
local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
end
local k = lane_keys(KEYS)
local id, lane = ARGV[1], ARGV[2]
local now = read_now(nil)
local job = parse_record(redis.call('HGET', k.jobs, id))
if job then
  if ARGV[4] == 'retry' then
    change_state(k, id, job, 'f', now, math.floor(now / 1000))
  else
    forget_job(k, id, job)
  end
end
if ARGV[5] ~= '' then redis.call('SET', KEYS[12], ARGV[5], 'PX', ARGV[6]) end
unblock(k, lane, now, ARGV[3])
tidy(k, lane, now)
return 1
`,
} as const;

export const grant = {
  name: 'rlGrant_96dfbd32',
  sha1: '96dfbd320a0177c79e39657708eef7cebf244627',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end
local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end
local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
local COUNTED = { g = 'g', r = 'r', f = 'f', x = 'f' }
local SUMMED = { w = 'wc', g = 'h' }
local function count(k, job, sign)
  if COUNTED[job.state] then redis.call('HINCRBY', k.state, COUNTED[job.state], sign) end
  if SUMMED[job.state] then redis.call('HINCRBY', k.state, SUMMED[job.state], sign * job.cost) end
end
local function leave_state(k, id, job)
  count(k, job, -1)
  if job.state == 'w' then redis.call('ZREM', k.wait, id) end
  if job.state == 'w' or job.state == 'x' then redis.call('ZREM', k.pending, id) end
end
local function enter_state(k, id, job, state, at, now_ms)
  job.state, job.at = state, at
  count(k, job, 1)
  if state == 'w' then
    redis.call('ZADD', k.wait, job.seq, id)
    redis.call('ZREM', k.open, id)
  else
    redis.call('ZADD', k.open, now_ms, id)
  end
  if state == 'w' or state == 'x' then
    redis.call('ZADD', k.pending, job.deadline > 0 and job.deadline or '+inf', id)
  end
  redis.call('HSET', k.jobs, id, format_record(job))
end
local function change_state(k, id, job, state, at, now_ms)
  leave_state(k, id, job)
  enter_state(k, id, job, state, at, now_ms)
end
local function forget_job(k, id, job)
  leave_state(k, id, job)
  redis.call('HDEL', k.jobs, id)
  redis.call('ZREM', k.open, id)
end
local function wait_turn(k, id, job, now, lane_record, channel)
  enter_state(k, id, job, 'w', now, math.floor(now / 1000))
  redis.call('HSET', k.lanes, job.lane, lane_record)
  if redis.call('ZRANGE', k.wait, 0, 0)[1] == id then
    redis.call('ZADD', k.next, now, job.lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function unblock(k, lane, now, channel)
  if redis.call('HDEL', k.state, 'blocked') == 1 then
    redis.call('ZADD', k.next, now, lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function tidy(k, lane, now)
  local s = redis.call('HMGET', k.state, 'g', 'r', 'f', 'pause', 'claim')
  for i = 1, 3 do
    if s[i] and tonumber(s[i]) > 0 then return end
  end
  if redis.call('ZCARD', k.wait) > 0 or s[5] then return end
  local pause = tonumber(s[4] or 0)
  if pause > now then
    redis.call('ZADD', k.next, pause, lane)
    return
  end
  redis.call('ZREM', k.next, lane)
  redis.call('HDEL', k.lanes, lane)
  redis.call('DEL', k.state)
end
local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
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
local function load_bucket(key, at, now, held, lost)
  local q = tonumber(ARGV[at + 1])
  local largest = tonumber(ARGV[at + 2])
  local b = { key = key, n = tonumber(ARGV[at]), q = q, largest = largest, held = held, cap = largest - held * q,
    fingerprint = tonumber(ARGV[at + 3]) }
  local c, t, found = decode(redis.call('GET', key), q, b.cap, now, rescale)
  if not found and lost then c, t = math.min(0, b.cap), lost end
  b.c, b.t = refill(c, t, b.n, b.cap, now)
  return b
end
local function lost_at(k, now)
  local m = redis.call('HMGET', k.meta, 'lost', 'epoch')
  return tonumber(m[1]) or (not m[2] and now) or nil
end
local function wait_for(b, cost, ahead, now)
  local price = math.min(cost * b.q, b.largest)
  local _, wait = take(b.c - ahead * b.q, b.t, b.n, price, 0, now)
  return wait
end
local function charge(b, cost)
  b.c = math.max(-2251799813685248, b.c - cost * b.q)
  b.changed = true
end
local function hold(b, cost)
  b.held = b.held + cost
  b.cap = b.cap - cost * b.q
  b.changed = true
end
local function return_cost(b, cost, starts_at)
  b.c = give_back(b.c, b.t, b.n, b.cap, cost * b.q, starts_at)
  b.changed = true
end
local function save_bucket(b, now)
  if not b or not b.changed then return end
  local value = encode(b.fingerprint, b.c, b.t, b.q)
  if b.held > 0 then
    redis.call('SET', b.key, value)
  elseif b.c >= b.cap then
    redis.call('DEL', b.key)
  else
    redis.call('SET', b.key, value, 'PX', math.ceil(time_to_full(b.c, b.t, b.n, b.cap, now) / 1000) + 2)
  end
end
local k = lane_keys(KEYS)
local lane, max_granted, max_in_flight = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local look_ahead, most = tonumber(ARGV[4]), tonumber(ARGV[5])
local now = read_now(nil)
local now_ms = math.floor(now / 1000)
local s = redis.call('HMGET', k.state, 'h', 'g', 'r', 'pause', 'claim', 'cp')
local held, granted, running = tonumber(s[1] or 0), tonumber(s[2] or 0), tonumber(s[3] or 0)
local lost = lost_at(k, now)
local share = ARGV[10] ~= '' and load_bucket(k.share, 10, now, held, lost) or nil
local bucket = share and load_bucket(k.bucket, 6, now, 0) or load_bucket(k.bucket, 6, now, held, lost)
local pause, claim, claimed = tonumber(s[4] or 0), tonumber(s[5] or 0), tonumber(s[6] or 0)
local MOST_LATE = 500
local ids = {}
local late = 0
local look = 0
local pay
function pay(job)
  if not share then
    local wait = wait_for(bucket, job.cost, 0, now)
    if wait > look_ahead then return nil, now + wait end
    charge(bucket, job.cost)
    return now + wait
  end
  if claim == 0 then
    local wait = wait_for(share, job.cost, 0, now)
    if wait > look_ahead then return nil, now + wait end
    claim, claimed = now + math.max(wait, wait_for(bucket, job.cost, 0, now)), job.cost
    charge(share, job.cost)
    charge(bucket, job.cost)
    redis.call('HSET', k.state, 'claim', string.format('%.0f', claim), 'cp', claimed)
  elseif claimed ~= job.cost then
    return_cost(bucket, claimed, claim)
    return_cost(share, claimed, claim)
    claim = 0
    redis.call('HDEL', k.state, 'claim', 'cp')
    return pay(job)
  end
  if claim > now + look_ahead then return nil, claim end
  local slot = claim
  claim = 0
  redis.call('HDEL', k.state, 'claim', 'cp')
  return slot
end
while #ids < most and late < MOST_LATE do
  look = now
  local id = redis.call('ZRANGE', k.wait, 0, 0)[1]
  if not id then
    look = 0
    break
  end
  local job = parse_record(redis.call('HGET', k.jobs, id))
  if not job then
    redis.call('ZREM', k.wait, id)
    redis.call('ZREM', k.pending, id)
  elseif is_late(job, now_ms) then
    change_state(k, id, job, 'x', now, now_ms)
    late = late + 1
  elseif pause > now then
    look = pause
    break
  elseif granted >= max_granted or granted + running >= max_in_flight then
    redis.call('HSET', k.state, 'blocked', 1)
    look = now + 250000
    break
  else
    local slot, later = pay(job)
    if not slot then
      look = later
      break
    end
    change_state(k, id, job, 'g', slot, now_ms)
    hold(share or bucket, job.cost)
    granted = granted + 1
    ids[#ids + 1] = id
  end
end
if look > 0 then redis.call('ZADD', k.next, look, lane) else redis.call('ZREM', k.next, lane) end
if look == 0 then tidy(k, lane, now) end
save_bucket(bucket, now)
save_bucket(share, now)
local reply = { now, look }
for i = 1, #ids do reply[#reply + 1] = ids[i] end
return reply
`,
} as const;

export const look = {
  name: 'rlLook_a3cdd563',
  sha1: 'a3cdd563dc67a8cedfa4b9882748e771e57c88d3',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end
local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end
local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
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
local function load_bucket(key, at, now, held, lost)
  local q = tonumber(ARGV[at + 1])
  local largest = tonumber(ARGV[at + 2])
  local b = { key = key, n = tonumber(ARGV[at]), q = q, largest = largest, held = held, cap = largest - held * q,
    fingerprint = tonumber(ARGV[at + 3]) }
  local c, t, found = decode(redis.call('GET', key), q, b.cap, now, rescale)
  if not found and lost then c, t = math.min(0, b.cap), lost end
  b.c, b.t = refill(c, t, b.n, b.cap, now)
  return b
end
local function lost_at(k, now)
  local m = redis.call('HMGET', k.meta, 'lost', 'epoch')
  return tonumber(m[1]) or (not m[2] and now) or nil
end
local function wait_for(b, cost, ahead, now)
  local price = math.min(cost * b.q, b.largest)
  local _, wait = take(b.c - ahead * b.q, b.t, b.n, price, 0, now)
  return wait
end
local function charge(b, cost)
  b.c = math.max(-2251799813685248, b.c - cost * b.q)
  b.changed = true
end
local function hold(b, cost)
  b.held = b.held + cost
  b.cap = b.cap - cost * b.q
  b.changed = true
end
local function return_cost(b, cost, starts_at)
  b.c = give_back(b.c, b.t, b.n, b.cap, cost * b.q, starts_at)
  b.changed = true
end
local function save_bucket(b, now)
  if not b or not b.changed then return end
  local value = encode(b.fingerprint, b.c, b.t, b.q)
  if b.held > 0 then
    redis.call('SET', b.key, value)
  elseif b.c >= b.cap then
    redis.call('DEL', b.key)
  else
    redis.call('SET', b.key, value, 'PX', math.ceil(time_to_full(b.c, b.t, b.n, b.cap, now) / 1000) + 2)
  end
end
local function line_wait(bucket, share, cost, before, claim, claimed, now)
  if before == 0 and claimed > 0 then return math.max(0, claim - now) end
  local unpaid = math.max(0, before - claimed)
  local wait = wait_for(bucket, cost, unpaid, now)
  if share then wait = math.max(wait, wait_for(share, cost, unpaid, now)) end
  return wait
end
local k = lane_keys(KEYS)
local id = ARGV[1]
local now = read_now(nil)
local now_ms = math.floor(now / 1000)
local job = parse_record(redis.call('HGET', k.jobs, id))
if not job then return { '' } end
if job.state ~= 'w' then return { job.state, now_ms, math.max(0, job.at - now), 0 } end
local s = redis.call('HMGET', k.state, 'h', 'pause', 'claim', 'cp')
local held, lost = tonumber(s[1] or 0), lost_at(k, now)
local share = ARGV[6] ~= '' and load_bucket(k.share, 6, now, held, lost) or nil
local bucket = share and load_bucket(k.bucket, 2, now, 0) or load_bucket(k.bucket, 2, now, held, lost)
local position = redis.call('ZRANK', k.wait, id) or 0
local pause = math.max(0, tonumber(s[2] or 0) - now)
local wait = line_wait(bucket, share, job.cost, position * 1000, tonumber(s[3] or 0), tonumber(s[4] or 0), now)
return { job.state, now_ms, wait + pause, position + 1 }
`,
} as const;

export const pause = {
  name: 'rlPause_cc05aa6b',
  sha1: 'cc05aa6b708a7dfb5dbc7a5b1d5c7a6adbb86468',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end
local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end
local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
local COUNTED = { g = 'g', r = 'r', f = 'f', x = 'f' }
local SUMMED = { w = 'wc', g = 'h' }
local function count(k, job, sign)
  if COUNTED[job.state] then redis.call('HINCRBY', k.state, COUNTED[job.state], sign) end
  if SUMMED[job.state] then redis.call('HINCRBY', k.state, SUMMED[job.state], sign * job.cost) end
end
local function leave_state(k, id, job)
  count(k, job, -1)
  if job.state == 'w' then redis.call('ZREM', k.wait, id) end
  if job.state == 'w' or job.state == 'x' then redis.call('ZREM', k.pending, id) end
end
local function enter_state(k, id, job, state, at, now_ms)
  job.state, job.at = state, at
  count(k, job, 1)
  if state == 'w' then
    redis.call('ZADD', k.wait, job.seq, id)
    redis.call('ZREM', k.open, id)
  else
    redis.call('ZADD', k.open, now_ms, id)
  end
  if state == 'w' or state == 'x' then
    redis.call('ZADD', k.pending, job.deadline > 0 and job.deadline or '+inf', id)
  end
  redis.call('HSET', k.jobs, id, format_record(job))
end
local function change_state(k, id, job, state, at, now_ms)
  leave_state(k, id, job)
  enter_state(k, id, job, state, at, now_ms)
end
local function forget_job(k, id, job)
  leave_state(k, id, job)
  redis.call('HDEL', k.jobs, id)
  redis.call('ZREM', k.open, id)
end
local function wait_turn(k, id, job, now, lane_record, channel)
  enter_state(k, id, job, 'w', now, math.floor(now / 1000))
  redis.call('HSET', k.lanes, job.lane, lane_record)
  if redis.call('ZRANGE', k.wait, 0, 0)[1] == id then
    redis.call('ZADD', k.next, now, job.lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function unblock(k, lane, now, channel)
  if redis.call('HDEL', k.state, 'blocked') == 1 then
    redis.call('ZADD', k.next, now, lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function tidy(k, lane, now)
  local s = redis.call('HMGET', k.state, 'g', 'r', 'f', 'pause', 'claim')
  for i = 1, 3 do
    if s[i] and tonumber(s[i]) > 0 then return end
  end
  if redis.call('ZCARD', k.wait) > 0 or s[5] then return end
  local pause = tonumber(s[4] or 0)
  if pause > now then
    redis.call('ZADD', k.next, pause, lane)
    return
  end
  redis.call('ZREM', k.next, lane)
  redis.call('HDEL', k.lanes, lane)
  redis.call('DEL', k.state)
end
local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
end
local k = lane_keys(KEYS)
local lane, pause, channel, id = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local now = read_now(nil)
local ends = now + pause * 1000
if id ~= '' then ends = math.max(ends, tonumber(redis.call('HGET', k.state, 'pause') or 0)) end
if ends > now then
  redis.call('HSET', k.state, 'pause', string.format('%.0f', ends))
  redis.call('HSET', k.lanes, lane, ARGV[5])
else
  redis.call('HDEL', k.state, 'pause')
end
local job = id ~= '' and parse_record(redis.call('HGET', k.jobs, id))
if job then
  leave_state(k, id, job)
  job.deadline = 0
  wait_turn(k, id, job, now, ARGV[5], channel)
end
if redis.call('ZCARD', k.wait) > 0 then
  redis.call('ZADD', k.next, now, lane)
  redis.call('PUBLISH', channel, 'wake')
end
tidy(k, lane, now)
return 1
`,
} as const;

export const start = {
  name: 'rlStart_e446218b',
  sha1: 'e446218b9f3a7079c91fabea8bbed8cedd23590c',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end
local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end
local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
local COUNTED = { g = 'g', r = 'r', f = 'f', x = 'f' }
local SUMMED = { w = 'wc', g = 'h' }
local function count(k, job, sign)
  if COUNTED[job.state] then redis.call('HINCRBY', k.state, COUNTED[job.state], sign) end
  if SUMMED[job.state] then redis.call('HINCRBY', k.state, SUMMED[job.state], sign * job.cost) end
end
local function leave_state(k, id, job)
  count(k, job, -1)
  if job.state == 'w' then redis.call('ZREM', k.wait, id) end
  if job.state == 'w' or job.state == 'x' then redis.call('ZREM', k.pending, id) end
end
local function enter_state(k, id, job, state, at, now_ms)
  job.state, job.at = state, at
  count(k, job, 1)
  if state == 'w' then
    redis.call('ZADD', k.wait, job.seq, id)
    redis.call('ZREM', k.open, id)
  else
    redis.call('ZADD', k.open, now_ms, id)
  end
  if state == 'w' or state == 'x' then
    redis.call('ZADD', k.pending, job.deadline > 0 and job.deadline or '+inf', id)
  end
  redis.call('HSET', k.jobs, id, format_record(job))
end
local function change_state(k, id, job, state, at, now_ms)
  leave_state(k, id, job)
  enter_state(k, id, job, state, at, now_ms)
end
local function forget_job(k, id, job)
  leave_state(k, id, job)
  redis.call('HDEL', k.jobs, id)
  redis.call('ZREM', k.open, id)
end
local function wait_turn(k, id, job, now, lane_record, channel)
  enter_state(k, id, job, 'w', now, math.floor(now / 1000))
  redis.call('HSET', k.lanes, job.lane, lane_record)
  if redis.call('ZRANGE', k.wait, 0, 0)[1] == id then
    redis.call('ZADD', k.next, now, job.lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function unblock(k, lane, now, channel)
  if redis.call('HDEL', k.state, 'blocked') == 1 then
    redis.call('ZADD', k.next, now, lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function tidy(k, lane, now)
  local s = redis.call('HMGET', k.state, 'g', 'r', 'f', 'pause', 'claim')
  for i = 1, 3 do
    if s[i] and tonumber(s[i]) > 0 then return end
  end
  if redis.call('ZCARD', k.wait) > 0 or s[5] then return end
  local pause = tonumber(s[4] or 0)
  if pause > now then
    redis.call('ZADD', k.next, pause, lane)
    return
  end
  redis.call('ZREM', k.next, lane)
  redis.call('HDEL', k.lanes, lane)
  redis.call('DEL', k.state)
end
local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
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
local function load_bucket(key, at, now, held, lost)
  local q = tonumber(ARGV[at + 1])
  local largest = tonumber(ARGV[at + 2])
  local b = { key = key, n = tonumber(ARGV[at]), q = q, largest = largest, held = held, cap = largest - held * q,
    fingerprint = tonumber(ARGV[at + 3]) }
  local c, t, found = decode(redis.call('GET', key), q, b.cap, now, rescale)
  if not found and lost then c, t = math.min(0, b.cap), lost end
  b.c, b.t = refill(c, t, b.n, b.cap, now)
  return b
end
local function lost_at(k, now)
  local m = redis.call('HMGET', k.meta, 'lost', 'epoch')
  return tonumber(m[1]) or (not m[2] and now) or nil
end
local function wait_for(b, cost, ahead, now)
  local price = math.min(cost * b.q, b.largest)
  local _, wait = take(b.c - ahead * b.q, b.t, b.n, price, 0, now)
  return wait
end
local function charge(b, cost)
  b.c = math.max(-2251799813685248, b.c - cost * b.q)
  b.changed = true
end
local function hold(b, cost)
  b.held = b.held + cost
  b.cap = b.cap - cost * b.q
  b.changed = true
end
local function return_cost(b, cost, starts_at)
  b.c = give_back(b.c, b.t, b.n, b.cap, cost * b.q, starts_at)
  b.changed = true
end
local function save_bucket(b, now)
  if not b or not b.changed then return end
  local value = encode(b.fingerprint, b.c, b.t, b.q)
  if b.held > 0 then
    redis.call('SET', b.key, value)
  elseif b.c >= b.cap then
    redis.call('DEL', b.key)
  else
    redis.call('SET', b.key, value, 'PX', math.ceil(time_to_full(b.c, b.t, b.n, b.cap, now) / 1000) + 2)
  end
end
local TAKEN_BACK_MS = 3000
local k = lane_keys(KEYS)
local id, lane, channel, lane_record = ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local max_running = tonumber(ARGV[4])
local now = read_now(nil)
local now_ms = math.floor(now / 1000)
local job = parse_record(redis.call('HGET', k.jobs, id))
local fresh = not job
if fresh then
  local ended = redis.call('GET', KEYS[12])
  if ended and string.sub(ended, 1, #ARGV[7]) == ARGV[7] then return { 3, now, 0 } end
  job = { state = 'n', seq = redis.call('HINCRBY', k.meta, 'seq', 1), cost = tonumber(ARGV[3]), deadline = 0, at = now,
    lane = lane }
end
local was, slot = job.state, job.at
local first = was == 'w' or was == 'g' or was == 'x'
local late = was == 'x' or (first and is_late(job, now_ms))
if was == 'w' and not late then return { 0, now, 0 } end
local adding = first and tonumber(redis.call('ZSCORE', k.adding, id) or now_ms) or now_ms
if adding >= 0 and adding < now_ms then
  adding = -now_ms
  redis.call('ZADD', k.adding, adding, id)
end
if adding < 0 and now_ms + adding < TAKEN_BACK_MS then return { 4, now, 0 } end
if not first then job.deadline = 0 end
local s = redis.call('HMGET', k.state, 'h', 'g', 'r', 'pause')
local held, in_flight = tonumber(s[1] or 0), tonumber(s[2] or 0) + tonumber(s[3] or 0)
local lost = lost_at(k, now)
local share = ARGV[12] ~= '' and load_bucket(k.share, 12, now, held, lost) or nil
local bucket = share and load_bucket(k.bucket, 8, now, 0) or load_bucket(k.bucket, 8, now, held, lost)
if was == 'g' then hold(share or bucket, -job.cost) end
if was == 'g' or was == 'r' then in_flight = in_flight - 1 end
local may_run = in_flight < max_running and tonumber(s[4] or 0) <= now
if first then redis.call('ZREM', k.adding, id) end
if late then forget_job(k, id, job) else leave_state(k, id, job) end
local function give_back()
  return_cost(bucket, job.cost, slot)
  if share then return_cost(share, job.cost, slot) end
end
local function answer(verdict, value)
  save_bucket(bucket, now)
  save_bucket(share, now)
  return { verdict, now, value }
end
if late then
  if was == 'g' then give_back() end
  unblock(k, lane, now, channel)
  tidy(k, lane, now)
  return answer(2, 0)
end
if was == 'g' then
  if may_run then
    enter_state(k, id, job, 'r', now, now_ms)
    unblock(k, lane, now, channel)
    return answer(1, math.max(0, slot - now))
  end
  give_back()
elseif may_run then
  local head = redis.call('ZRANGE', k.wait, 0, 0, 'WITHSCORES')
  if (not head[2] or tonumber(head[2]) > job.seq) and wait_for(bucket, job.cost, 0, now) == 0
    and (not share or wait_for(share, job.cost, 0, now) == 0) then
    charge(bucket, job.cost)
    if share then charge(share, job.cost) end
    enter_state(k, id, job, 'r', now, now_ms)
    if fresh then redis.call('HSET', k.lanes, lane, lane_record) end
    return answer(1, 0)
  end
end
wait_turn(k, id, job, now, lane_record, channel)
return answer(0, 0)
`,
} as const;

export const submit = {
  name: 'rlSubmit_2fc33215',
  sha1: '2fc33215c4ab8ac5ec21042f2c9bbd27fe323705',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end
local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end
local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
local COUNTED = { g = 'g', r = 'r', f = 'f', x = 'f' }
local SUMMED = { w = 'wc', g = 'h' }
local function count(k, job, sign)
  if COUNTED[job.state] then redis.call('HINCRBY', k.state, COUNTED[job.state], sign) end
  if SUMMED[job.state] then redis.call('HINCRBY', k.state, SUMMED[job.state], sign * job.cost) end
end
local function leave_state(k, id, job)
  count(k, job, -1)
  if job.state == 'w' then redis.call('ZREM', k.wait, id) end
  if job.state == 'w' or job.state == 'x' then redis.call('ZREM', k.pending, id) end
end
local function enter_state(k, id, job, state, at, now_ms)
  job.state, job.at = state, at
  count(k, job, 1)
  if state == 'w' then
    redis.call('ZADD', k.wait, job.seq, id)
    redis.call('ZREM', k.open, id)
  else
    redis.call('ZADD', k.open, now_ms, id)
  end
  if state == 'w' or state == 'x' then
    redis.call('ZADD', k.pending, job.deadline > 0 and job.deadline or '+inf', id)
  end
  redis.call('HSET', k.jobs, id, format_record(job))
end
local function change_state(k, id, job, state, at, now_ms)
  leave_state(k, id, job)
  enter_state(k, id, job, state, at, now_ms)
end
local function forget_job(k, id, job)
  leave_state(k, id, job)
  redis.call('HDEL', k.jobs, id)
  redis.call('ZREM', k.open, id)
end
local function wait_turn(k, id, job, now, lane_record, channel)
  enter_state(k, id, job, 'w', now, math.floor(now / 1000))
  redis.call('HSET', k.lanes, job.lane, lane_record)
  if redis.call('ZRANGE', k.wait, 0, 0)[1] == id then
    redis.call('ZADD', k.next, now, job.lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function unblock(k, lane, now, channel)
  if redis.call('HDEL', k.state, 'blocked') == 1 then
    redis.call('ZADD', k.next, now, lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end
local function tidy(k, lane, now)
  local s = redis.call('HMGET', k.state, 'g', 'r', 'f', 'pause', 'claim')
  for i = 1, 3 do
    if s[i] and tonumber(s[i]) > 0 then return end
  end
  if redis.call('ZCARD', k.wait) > 0 or s[5] then return end
  local pause = tonumber(s[4] or 0)
  if pause > now then
    redis.call('ZADD', k.next, pause, lane)
    return
  end
  redis.call('ZREM', k.next, lane)
  redis.call('HDEL', k.lanes, lane)
  redis.call('DEL', k.state)
end
local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
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
local function load_bucket(key, at, now, held, lost)
  local q = tonumber(ARGV[at + 1])
  local largest = tonumber(ARGV[at + 2])
  local b = { key = key, n = tonumber(ARGV[at]), q = q, largest = largest, held = held, cap = largest - held * q,
    fingerprint = tonumber(ARGV[at + 3]) }
  local c, t, found = decode(redis.call('GET', key), q, b.cap, now, rescale)
  if not found and lost then c, t = math.min(0, b.cap), lost end
  b.c, b.t = refill(c, t, b.n, b.cap, now)
  return b
end
local function lost_at(k, now)
  local m = redis.call('HMGET', k.meta, 'lost', 'epoch')
  return tonumber(m[1]) or (not m[2] and now) or nil
end
local function wait_for(b, cost, ahead, now)
  local price = math.min(cost * b.q, b.largest)
  local _, wait = take(b.c - ahead * b.q, b.t, b.n, price, 0, now)
  return wait
end
local function charge(b, cost)
  b.c = math.max(-2251799813685248, b.c - cost * b.q)
  b.changed = true
end
local function hold(b, cost)
  b.held = b.held + cost
  b.cap = b.cap - cost * b.q
  b.changed = true
end
local function return_cost(b, cost, starts_at)
  b.c = give_back(b.c, b.t, b.n, b.cap, cost * b.q, starts_at)
  b.changed = true
end
local function save_bucket(b, now)
  if not b or not b.changed then return end
  local value = encode(b.fingerprint, b.c, b.t, b.q)
  if b.held > 0 then
    redis.call('SET', b.key, value)
  elseif b.c >= b.cap then
    redis.call('DEL', b.key)
  else
    redis.call('SET', b.key, value, 'PX', math.ceil(time_to_full(b.c, b.t, b.n, b.cap, now) / 1000) + 2)
  end
end
local function line_wait(bucket, share, cost, before, claim, claimed, now)
  if before == 0 and claimed > 0 then return math.max(0, claim - now) end
  local unpaid = math.max(0, before - claimed)
  local wait = wait_for(bucket, cost, unpaid, now)
  if share then wait = math.max(wait, wait_for(share, cost, unpaid, now)) end
  return wait
end
local k = lane_keys(KEYS)
local id, lane, cost, max_wait = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local max_lane, max_total = tonumber(ARGV[5]), tonumber(ARGV[6])
local digest, life, max_granted = ARGV[8], tonumber(ARGV[9]), tonumber(ARGV[11])
local now = read_now(nil)
local now_ms = math.floor(now / 1000)
local m = redis.call('HMGET', k.meta, 'lost', 'epoch')
local lost, paced = tonumber(m[1]), m[2]
local s = redis.call('HMGET', k.state, 'wc', 'h', 'pause', 'g', 'claim', 'cp')
local ahead, held, granted = tonumber(s[1] or 0), tonumber(s[2] or 0), tonumber(s[4] or 0)
local pause = math.max(0, tonumber(s[3] or 0) - now)
local claim, claimed = tonumber(s[5] or 0), tonumber(s[6] or 0)
local share = ARGV[17] ~= '' and load_bucket(k.share, 17, now, held, lost) or nil
local bucket = share and load_bucket(k.bucket, 13, now, 0) or load_bucket(k.bucket, 13, now, held, lost)
local function start_in(own, before)
  return line_wait(bucket, share, own, before, claim, claimed, now) + pause
end
if digest ~= '' then
  local known_id, known_digest = string.match(redis.call('GET', KEYS[12]) or '', '^([^|]*)|(.*)$')
  local job = known_id and parse_record(redis.call('HGET', k.jobs, known_id))
  if job or (known_id and redis.call('EXISTS', ARGV[12] .. known_id) == 1) then
    if known_digest ~= digest then return { 6 } end
    local position = job and job.state == 'w' and redis.call('ZRANK', k.wait, known_id)
    if not position then return { 5, now_ms, 0, 0, known_id, job and job.state == 'g' and 1 or 0 } end
    return { 5, now_ms, start_in(job.cost, position * 1000), position + 1, known_id, 1 }
  end
end
local wait = start_in(cost, ahead)
local waiting = redis.call('ZCARD', k.wait)
if wait > max_wait * 1000 then return { 4, now_ms, wait } end
local at_once = paced and wait == 0 and waiting == 0 and not (share and granted >= max_granted)
if not at_once then
  if waiting >= max_lane then return { 2, now_ms, wait } end
  if redis.call('ZCARD', k.pending) >= max_total then return { 3, now_ms, wait } end
end
local job = { seq = redis.call('HINCRBY', k.meta, 'seq', 1), cost = cost, deadline = now_ms + max_wait, lane = lane }
if digest ~= '' then redis.call('SET', KEYS[12], id .. '|' .. digest, 'PX', life) end
redis.call('ZADD', k.adding, now_ms + tonumber(ARGV[21]), id)
if not at_once then
  wait_turn(k, id, job, now, ARGV[10], ARGV[7])
  return { 0, now_ms, wait, waiting + 1 }
end
charge(bucket, cost)
if share then charge(share, cost) end
hold(share or bucket, cost)
save_bucket(bucket, now)
save_bucket(share, now)
enter_state(k, id, job, 'g', now, now_ms)
redis.call('HSET', k.lanes, lane, ARGV[10])
return { 1, now_ms, 0, 0 }
`,
} as const;

export const tick = {
  name: 'rlTick_47a0082c',
  sha1: '47a0082c59d3c4886c5602a02cdf1394b15b7719',
  keys: null,
  lua: `local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
local WORKER_LIFE_MS = 5000
local now = read_now(nil)
local now_ms = math.floor(now / 1000)
local me, lease, known = ARGV[1], tonumber(ARGV[2]), ARGV[5]
local leader = redis.call('GET', KEYS[1])
if lease == 0 then
  if leader == me then
    redis.call('DEL', KEYS[1])
    redis.call('PUBLISH', ARGV[6], 'lead')
  end
  redis.call('ZREM', KEYS[4], me .. '|' .. ARGV[4])
  return { now, 0, 0, known, 0 }
end
local epoch = redis.call('HGET', KEYS[5], 'epoch')
if epoch ~= known and known ~= '' then redis.call('HSETNX', KEYS[5], 'lost', string.format('%.0f', now)) end
if not epoch then
  epoch = string.format('%.0f', now)
  redis.call('HSET', KEYS[5], 'epoch', epoch)
end
redis.call('ZADD', KEYS[4], now_ms, me .. '|' .. ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now_ms - WORKER_LIFE_MS)
redis.call('PEXPIRE', KEYS[4], WORKER_LIFE_MS)
local concurrency = 0
local workers = redis.call('ZRANGE', KEYS[4], 0, -1)
for i = 1, #workers do concurrency = concurrency + tonumber(string.match(workers[i], '|(%d+)$')) end
if leader and leader ~= me then return { now, 0, concurrency, epoch, 0 } end
redis.call('SET', KEYS[1], me, 'PX', lease)
local late = redis.call('ZRANGEBYSCORE', KEYS[6], '-inf', now_ms - 1, 'LIMIT', 0, ARGV[7])
local reply = { now, leader and 1 or 2, concurrency, epoch, #late }
for i = 1, #late do reply[#reply + 1] = late[i] end
local due = redis.call('ZRANGE', KEYS[2], 0, tonumber(ARGV[3]) - 1, 'WITHSCORES')
for i = 1, #due, 2 do
  local record = redis.call('HGET', KEYS[3], due[i])
  if record then
    reply[#reply + 1] = due[i]
    reply[#reply + 1] = tonumber(due[i + 1])
    reply[#reply + 1] = record
  else
    redis.call('ZREM', KEYS[2], due[i])
  end
end
return reply
`,
} as const;
