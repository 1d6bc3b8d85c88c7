-- Every pick-up of a job by a worker asks this first: nothing starts unpaid, retries, re-runs after a crash and jobs
-- added by other tools included.
-- KEYS  1..10  lane_keys
-- ARGV  1 id, 2 lane, 3 cost (thousandths), 4 most running, 5 wake channel, 6 lane record,
--       7, 8 level this process saw last (credits, µs) or '', 9..12 bucket, 13..16 share of it (13 = '' without),
--       17 '1' = it was submitted here and was never picked up before
-- Reply { verdict, now (µs), value, credits, their time (µs) }
--       verdict 1 run, after `value` µs · 0 not yet, it waits its turn; `value` ms until its deadline (0 = none)
--       · 2 expired · 3 it was submitted here, but its submission failed
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys
-- @include lib/paced_bucket

local k = lane_keys(KEYS)
local id, lane, channel, lane_record = ARGV[1], ARGV[2], ARGV[5], ARGV[6]
local max_running = tonumber(ARGV[4])
local now = read_now(nil)
local now_ms = math.floor(now / 1000)
local job = parse_record(redis.call('HGET', k.jobs, id))
local fresh = not job
if fresh then
  if ARGV[17] == '1' then return { 3, now, 0, 0, 0 } end
  job = { state = 'n', seq = redis.call('HINCRBY', k.meta, 'seq', 1), cost = tonumber(ARGV[3]), deadline = 0, at = now,
    lane = lane }
end
-- A deadline is about the first start only.
local first = job.state == 'w' or job.state == 'g'
local late = job.state == 'x' or (first and is_late(job, now_ms))
local was = { state = job.state, at = job.at }
-- Out of its state before the buckets are read: what it held is its own from here on.
if late then
  forget_job(k, id, job)
elseif job.state ~= 'w' then
  leave_state(k, id, job)
end

local s = redis.call('HMGET', k.state, 'h', 'g', 'r', 'pause')
local held, in_flight = tonumber(s[1] or 0), tonumber(s[2] or 0) + tonumber(s[3] or 0)
local paused = tonumber(s[4] or 0) > now
local share = ARGV[13] ~= '' and load_bucket(k.share, 13, now, held) or nil
local bucket = share and load_bucket(k.bucket, 9, now, 0)
  or load_bucket(k.bucket, 9, now, held, tonumber(ARGV[7]), tonumber(ARGV[8]))

local function give_back_held()
  return_cost(bucket, job.cost, was.at)
  if share then return_cost(share, job.cost, was.at) end
end

local function answer(verdict, value)
  save_bucket(bucket, now)
  save_bucket(share, now)
  return { verdict, now, value, bucket.c, bucket.t }
end

local function later()
  return answer(0, job.deadline > 0 and math.max(1, job.deadline - now_ms + 1) or 0)
end

if late then
  if was.state == 'g' then give_back_held() end
  unblock(k, lane, now, channel)
  tidy(k, lane, now)
  return answer(2, 0)
end
if job.state == 'w' then return later() end
local room = in_flight < max_running
if job.state == 'g' and room and not paused then
  enter_state(k, id, job, 'r', now, now_ms)
  unblock(k, lane, now, channel)
  return answer(1, math.max(0, was.at - now))
end
if job.state == 'g' then
  give_back_held()
else
  -- Unpaid: it pays now if nobody is before it, else it takes its place in the line.
  local head = redis.call('ZRANGE', k.wait, 0, 0, 'WITHSCORES')
  if room and not paused and (not head[2] or tonumber(head[2]) > job.seq)
    and wait_for(bucket, job.cost, 0, now) == 0 and (not share or wait_for(share, job.cost, 0, now) == 0) then
    charge(bucket, job.cost)
    if share then charge(share, job.cost) end
    enter_state(k, id, job, 'r', now, now_ms)
    if fresh then redis.call('HSET', k.lanes, lane, lane_record) end
    return answer(1, 0)
  end
  job.deadline = 0
end
wait_turn(k, id, job, now, lane_record, channel)
return later()
