-- Takes a job that has not started out of the line: cancelled, not added after all, or gone from BullMQ.
-- KEYS  1..11  lane_keys, 12 result, 13 idempotency entry (any key unless ARGV[8] is 'key')
-- ARGV  1 id, 2 lane, 3 wake channel, 4 '1' = also one that is said to be running (it is gone),
--       5 result ('' = none), 6 its life (ms), 7 channel that tells of ended jobs,
--       8 'failed' = its submission failed: it shall not start though no record is left; 'key' = the same, and its
--         idempotency key is free; else '',
--       9..12 bucket, 13..16 share of it (13 = '' without)
-- Reply 1 dropped · 0 it runs, or is not known
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys
-- @include lib/paced_bucket

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
  -- The claim would hold a token for nobody.
  give_back(tonumber(s[3]), tonumber(s[2]))
  redis.call('HDEL', k.state, 'claim', 'cp')
end
save_bucket(bucket, now)
save_bucket(share, now)
unblock(k, lane, now, ARGV[3])
tidy(k, lane, now)
return 1
