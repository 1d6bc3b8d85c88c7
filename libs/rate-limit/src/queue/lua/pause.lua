-- Pauses a lane, and puts a running job of it back to its place in the line without an attempt.
-- KEYS  1..11  lane_keys
-- ARGV  1 lane, 2 pause (ms; 0 = goes on at once), 3 wake channel, 4 id of the running job or '', 5 lane record
--       A job prolongs a pause that runs, it never shortens it.
-- Reply 1
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys

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
