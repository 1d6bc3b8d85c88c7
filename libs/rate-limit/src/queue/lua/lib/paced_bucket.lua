-- The buckets that pace a lane. Reads and writes Redis; the keys are parameters.
-- @include store:lib/token_bucket
-- @include store:lib/bucket_value
--
-- A granted job holds its tokens until it starts, and is charged at its start: what it holds counts against the
-- capacity meanwhile. So a bucket whose granted jobs wait for a worker fills up to capacity - held, and a worker
-- that comes back after an outage finds one burst, not two.

-- A bucket of 4 arguments from ARGV[at]: n, q, capacity, fingerprint, brought up to now. `held` is the cost, in
-- thousandths, of its granted jobs. `seen_c` and `seen_t` (or nil) are the level that this process saw last: it
-- stands in for a bucket that Redis lost.
local function load_bucket(key, at, now, held, seen_c, seen_t)
  local q = tonumber(ARGV[at + 1])
  local b = { key = key, n = tonumber(ARGV[at]), q = q, cap = tonumber(ARGV[at + 2]) - held * q,
    largest = tonumber(ARGV[at + 2]), fingerprint = tonumber(ARGV[at + 3]) }
  local c, t, found = decode(redis.call('GET', key), q, b.cap, now, rescale)
  if not found and seen_c then c, t = seen_c, seen_t end
  b.c, b.t = refill(c, t, b.n, b.cap, now)
  return b
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

-- A job was granted: what it holds counts against the capacity.
local function hold(b, cost)
  b.cap = b.cap - cost * b.q
end

-- Gives back what nobody used. `cap` has room for it: the job no longer holds it.
local function return_cost(b, cost, starts_at)
  b.c = give_back(b.c, b.t, b.n, b.cap, cost * b.q, starts_at)
  b.changed = true
end

local function save_bucket(b, now)
  if not b or not b.changed then return end
  if b.c >= b.cap then
    redis.call('DEL', b.key)
    return
  end
  local ttl = math.ceil(time_to_full(b.c, b.t, b.n, b.cap, now) / 1000) + 2
  redis.call('SET', b.key, encode(b.fingerprint, b.c, b.t, b.q), 'PX', ttl)
end
