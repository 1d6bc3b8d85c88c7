-- Takes a job that has not started out of the line: cancelled, not added after all, or gone from BullMQ.
-- KEYS  1..10  lane_keys, 11 result
-- ARGV  1 id, 2 lane, 3 wake channel, 4 '1' = also one that is said to be running (it is gone),
--       5 result ('' = none), 6 its life (ms), 7 channel that tells of ended jobs,
--       8..11 bucket, 12..15 share of it (12 = '' without)
-- Reply 1 dropped · 0 it runs, or is not known
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys
-- @include lib/paced_bucket

local k = lane_keys(KEYS)
local id, lane = ARGV[1], ARGV[2]
local job = parse_record(redis.call('HGET', k.jobs, id))
if not job or (job.state == 'r' and ARGV[4] ~= '1') then return 0 end
local now = read_now(nil)
forget_job(k, id, job)

local s = redis.call('HMGET', k.state, 'h', 'claim', 'cp')
local share = ARGV[12] ~= '' and load_bucket(k.share, 12, now, tonumber(s[1] or 0)) or nil
local bucket = load_bucket(k.bucket, 8, now, share and 0 or tonumber(s[1] or 0))
local function give_back_both(cost, at)
  return_cost(bucket, cost, at)
  if share then return_cost(share, cost, at) end
end
if job.state == 'g' then give_back_both(job.cost, job.at) end
if s[2] and redis.call('ZCARD', k.wait) == 0 then
  -- The claim would hold a token for nobody.
  give_back_both(tonumber(s[3]), tonumber(s[2]))
  redis.call('HDEL', k.state, 'claim', 'cp')
end
save_bucket(bucket, now)
save_bucket(share, now)
if ARGV[5] ~= '' then
  redis.call('SET', KEYS[11], ARGV[5], 'PX', ARGV[6])
  redis.call('PUBLISH', ARGV[7], id)
end
unblock(k, lane, now, ARGV[3])
tidy(k, lane, now)
return 1
