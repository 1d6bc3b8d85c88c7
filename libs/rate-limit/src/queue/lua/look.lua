-- Where a job is, and when it starts. Writes nothing.
-- KEYS  1..11  lane_keys
-- ARGV  1 id, 2..5 bucket, 6..9 share of it (6 = '' without)
-- Reply { state, now_ms, wait (µs), place in the line from 1, or 0 } · { '' } not known
-- @include store:lib/now
-- @include lib/job_record
-- @include lib/lane_keys
-- @include lib/paced_bucket
-- @include lib/line_wait

local k = lane_keys(KEYS)
local id = ARGV[1]
local now = read_now(nil)
local now_ms = math.floor(now / 1000)
local job = parse_record(redis.call('HGET', k.jobs, id))
if not job then return { '' } end
if job.state ~= 'w' then return { job.state, now_ms, math.max(0, job.at - now), 0 } end
local s = redis.call('HMGET', k.state, 'h', 'pause', 'claim', 'cp')
local held, lost = tonumber(s[1] or 0), lost_at(k, now)
local share = ARGV[6] ~= '' and load_bucket(k.share, 6, now, held, lost) or nil
local bucket = share and load_bucket(k.bucket, 2, now, 0) or load_bucket(k.bucket, 2, now, held, lost)
local position = redis.call('ZRANK', k.wait, id) or 0
local pause = math.max(0, tonumber(s[2] or 0) - now)
-- An estimate: that as many tokens as positions stand before it. Exact when all costs are one.
local wait = line_wait(bucket, share, job.cost, position * 1000, tonumber(s[3] or 0), tonumber(s[4] or 0), now)
return { job.state, now_ms, wait + pause, position + 1 }
