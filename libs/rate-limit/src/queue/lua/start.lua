-- Every pick-up of a job by a worker asks this first: nothing starts unpaid, retries, re-runs after a crash and jobs
-- added by other tools included.
-- KEYS  1..11  lane_keys, 12 result
-- ARGV  1 id, 2 lane, 3 cost (thousandths), 4 most running, 5 wake channel, 6 lane record,
--       7 what the result of a cancelled job starts with, 8..11 bucket, 12..15 share of it (12 = '' without)
-- Reply { verdict, now (µs), value }
--       verdict 1 run, after `value` µs · 0 not yet, it waits its turn · 2 expired · 3 cancelled ·
--       4 its submitter may have given it up and be about to take it back: ask again soon
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys
-- @include lib/paced_bucket

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
-- A deadline is about the first start only.
local first = was == 'w' or was == 'g' or was == 'x'
local late = was == 'x' or (first and is_late(job, now_ms))
if was == 'w' and not late then return { 0, now, 0 } end
-- Redis stood still between the two steps of its submission, whose caller was told that it failed. Whoever lives
-- takes it back within moments; after that its submitter died, or was only unable to say that all is well.
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
  -- Unpaid: it pays now if nobody is before it, else it takes its place in the line.
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
