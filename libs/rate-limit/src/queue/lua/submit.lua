-- Accepts a job into its lane, or says why not.
-- KEYS  1..11  lane_keys, 12 idempotency entry (any key when ARGV[8] is '')
-- ARGV  1 id, 2 lane, 3 cost (thousandths), 4 longest wait (ms), 5 most waiting in the lane, 6 most waiting in all,
--       7 wake channel, 8 idempotency digest or '', 9 its life (ms), 10 lane record, 11 most granted,
--       12 what result keys start with, 13..16 bucket, 17..20 share of it (17 = '' without),
--       21 how long its submitter surely waits for BullMQ (ms)
-- Reply { 0, now_ms, wait (µs), position }    waits its turn
--       { 1, now_ms, 0, 0 }                   may start at once; it holds its tokens
--       { 2 or 3, now_ms, wait (µs) }         lane or queue is full; wait until this one would have started
--       { 4, now_ms, wait (µs) }              could not start in time
--       { 5, now_ms, wait (µs), position, id, 1 = has not started or 0 }    was accepted before, under this id
--       { 6 }                                 same idempotency key, other payload
-- @include store:lib/now
-- @include lib/lane
-- @include lib/lane_keys
-- @include lib/paced_bucket
-- @include lib/line_wait

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
  -- Without a job and without a result, its submission failed, or its result was forgotten.
  if job or (known_id and redis.call('EXISTS', ARGV[12] .. known_id) == 1) then
    if known_digest ~= digest then return { 6 } end
    local position = job and job.state == 'w' and redis.call('ZRANK', k.wait, known_id)
    if not position then return { 5, now_ms, 0, 0, known_id, job and job.state == 'g' and 1 or 0 } end
    -- An estimate: that as many tokens as positions stand before it. Exact when all costs are one.
    return { 5, now_ms, start_in(job.cost, position * 1000), position + 1, known_id, 1 }
  end
end

local wait = start_in(cost, ahead)
local waiting = redis.call('ZCARD', k.wait)
if wait > max_wait * 1000 then return { 4, now_ms, wait } end
-- Direct callers know nothing of what is held, so of a bucket that they use little may be. What no pacer has seen
-- since its keys came into being waits for one: it may stand where a queue was lost.
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
