-- An attempt ended.
-- KEYS  1..11  lane_keys, 12 result
-- ARGV  1 id, 2 lane, 3 wake channel, 4 'retry' = another attempt may follow, else 'end',
--       5 result ('' = none), 6 its life (ms). Whoever waits is told when BullMQ has it as well.
-- Reply 1
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys

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
