-- Pays for the heads of a lane whose tokens are there (or are within `look ahead`), in order.
-- KEYS  1..11  lane_keys
-- ARGV  1 lane, 2 most granted and not started, 3 most granted and running, 4 look ahead (µs), 5 most grants a call,
--       6..9 bucket, 10..13 share of it (10 = '' without)
-- Reply { now (µs), next look (µs; 0 = nobody waits), then the ids to start }
--       Heads that expired leave the line; tick.lua has them told so.
-- Of a bucket that direct callers use as well, the head's token is claimed ahead of time, as a debt: it makes them
-- wait for it, or they would take every token before the queue gets one.
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys
-- @include lib/paced_bucket

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

-- The slot of the head in µs; or nil, and when to look again.
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
    -- The head that it was taken for was cancelled.
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
