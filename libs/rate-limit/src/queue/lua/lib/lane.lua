-- A lane: the jobs of one key, in order, and its counters. Reads and writes Redis; the keys are parameters.
-- @include lib/job_record
--   state  hash: wc cost waiting, g granted, h cost held by them, r running, f neither, pause (µs),
--          claim (µs) and cp (cost): a token of a shared bucket taken for the head, blocked (1)

local COUNTED = { g = 'g', r = 'r', f = 'f', x = 'f' }
local SUMMED = { w = 'wc', g = 'h' }

local function count(k, job, sign)
  if COUNTED[job.state] then redis.call('HINCRBY', k.state, COUNTED[job.state], sign) end
  if SUMMED[job.state] then redis.call('HINCRBY', k.state, SUMMED[job.state], sign * job.cost) end
end

-- Takes the job out of its state: the counter, and the order of waiting where it stands in it.
local function leave_state(k, id, job)
  count(k, job, -1)
  if job.state == 'w' then redis.call('ZREM', k.wait, id) end
  if job.state == 'w' or job.state == 'x' then redis.call('ZREM', k.pending, id) end
end

-- Puts the job into a state. `at` in µs, `now_ms` for the reconciler's index.
local function enter_state(k, id, job, state, at, now_ms)
  job.state, job.at = state, at
  count(k, job, 1)
  if state == 'w' then
    redis.call('ZADD', k.wait, job.seq, id)
    redis.call('ZREM', k.open, id)
  else
    redis.call('ZADD', k.open, now_ms, id)
  end
  -- By deadline: the pacer takes those that are late out of here, some at a time.
  if state == 'w' or state == 'x' then
    redis.call('ZADD', k.pending, job.deadline > 0 and job.deadline or '+inf', id)
  end
  redis.call('HSET', k.jobs, id, format_record(job))
end

local function change_state(k, id, job, state, at, now_ms)
  leave_state(k, id, job)
  enter_state(k, id, job, state, at, now_ms)
end

-- The job is over: nothing of it stays.
local function forget_job(k, id, job)
  leave_state(k, id, job)
  redis.call('HDEL', k.jobs, id)
  redis.call('ZREM', k.open, id)
end

-- Waits its turn by its own seq. The pacer is woken when it is the first: nobody looks after this lane yet.
local function wait_turn(k, id, job, now, lane_record, channel)
  enter_state(k, id, job, 'w', now, math.floor(now / 1000))
  redis.call('HSET', k.lanes, job.lane, lane_record)
  if redis.call('ZRANGE', k.wait, 0, 0)[1] == id then
    redis.call('ZADD', k.next, now, job.lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end

-- The lane may go on: a grant had stopped since too many of its jobs were on their way.
local function unblock(k, lane, now, channel)
  if redis.call('HDEL', k.state, 'blocked') == 1 then
    redis.call('ZADD', k.next, now, lane)
    redis.call('PUBLISH', channel, 'wake')
  end
end

-- A lane without jobs leaves nothing behind. One that is paused stays until a look at the end of the pause.
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
