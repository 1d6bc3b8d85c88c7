-- Who paces, what is due, and how much all workers together can run: one process of all that ask holds a short lease.
-- KEYS  1 lease, 2 next looks, 3 lane records, 4 workers, 5 meta, 6 jobs that wait by deadline
-- ARGV  1 this process, 2 lease (ms; 0 = gives it up and is gone), 3 most lanes, 4 jobs that this process runs at once,
--       5 the epoch it knows or '', 6 wake channel, 7 most late jobs
-- Reply { now (µs), 2 = leads from now on, 1 = leads or 0, jobs that all run at once, epoch,
--         number of late jobs, their ids, then three a lane: lane, next look (µs), lane record }
--       Late jobs are told some at a time, and again until they have ended: however many there are after an outage,
--       few of them stand in the way of jobs that may start.
-- The epoch is when this queue's keys came into being. A process that knows another one has seen Redis lose them:
-- from that moment on a bucket that is not there counts as empty, not as full, or every loss were a second burst.
-- @include store:lib/now

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
