-- The buckets that pace a lane. Reads and writes Redis; the keys are parameters.
-- @include store:lib/token_bucket
-- @include store:lib/bucket_value
--
-- A granted job holds its tokens until it starts: its cost is taken from the level at once, and counts against the
-- capacity until its start. So level + held <= capacity at any time: a bucket whose granted jobs wait for a worker
-- fills up to capacity - held, and a worker that comes back after an outage finds one burst, not two.
-- Whatever changes `held` loads the bucket first, which brings the level up to now under the old capacity, and saves it.

-- A bucket of 4 arguments from ARGV[at]: n, q, capacity, fingerprint, brought up to now. `held` is the cost, in
-- thousandths, of its granted jobs. A bucket that is not there is full; but since Redis lost its data, at `lost`
-- (µs, or nil), it counts as empty at that moment, which is on the safe side of what it held.
local function load_bucket(key, at, now, held, lost)
  local q = tonumber(ARGV[at + 1])
  local largest = tonumber(ARGV[at + 2])
  local b = { key = key, n = tonumber(ARGV[at]), q = q, largest = largest, held = held, cap = largest - held * q,
    fingerprint = tonumber(ARGV[at + 3]) }
  local c, t, found = decode(redis.call('GET', key), q, b.cap, now, rescale)
  if not found and lost then c, t = math.min(0, b.cap), lost end
  b.c, b.t = refill(c, t, b.n, b.cap, now)
  return b
end

-- When Redis lost what it knew of this queue (see tick.lua), or nil. A queue that no pacer has seen yet may be one
-- that was lost a moment ago.
local function lost_at(k, now)
  local m = redis.call('HMGET', k.meta, 'lost', 'epoch')
  return tonumber(m[1]) or (not m[2] and now) or nil
end

-- µs until `cost` thousandths are there beyond `ahead` thousandths promised to others. A cost above the capacity
-- (of a share) needs a full bucket and leaves a debt.
local function wait_for(b, cost, ahead, now)
  local price = math.min(cost * b.q, b.largest)
  local _, wait = take(b.c - ahead * b.q, b.t, b.n, price, 0, now)
  return wait
end

local function charge(b, cost)
  b.c = math.max(-2251799813685248, b.c - cost * b.q)
  b.changed = true
end

-- A job was granted, or (with a negative cost) started or gave up its grant.
local function hold(b, cost)
  b.held = b.held + cost
  b.cap = b.cap - cost * b.q
  b.changed = true
end

-- Gives back what nobody used. `cap` has room for it: the job no longer holds it.
local function return_cost(b, cost, starts_at)
  b.c = give_back(b.c, b.t, b.n, b.cap, cost * b.q, starts_at)
  b.changed = true
end

local function save_bucket(b, now)
  if not b or not b.changed then return end
  local value = encode(b.fingerprint, b.c, b.t, b.q)
  if b.held > 0 then
    redis.call('SET', b.key, value)
  elseif b.c >= b.cap then
    redis.call('DEL', b.key)
  else
    redis.call('SET', b.key, value, 'PX', math.ceil(time_to_full(b.c, b.t, b.n, b.cap, now) / 1000) + 2)
  end
end
