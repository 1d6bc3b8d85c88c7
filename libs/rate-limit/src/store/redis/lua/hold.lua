-- Takes a slot of a key for an id, or keeps the one that it has. Twin of core/leases.ts (`Leases.hold`).
-- @keys 1
-- KEYS  1           slots: a sorted set, ids by the end of their leases in µs
-- ARGV  1           id
--       2           the most slots held at once
--       3           lease in µs
--       4           time in µs for tests; '' = the server's clock. TTLs are an hour longer then
-- Reply [1]         1 = the id holds a slot, 0 = all are held by others
--       [2]         slots held after the call
-- TTL   at least the lease, and 2 ms since it counts from a clock that Redis caches: the key outlives every lease.
-- Leases that have ended are dropped first, so the id of one asks anew.
-- @include lib/now

local id, max, lease, given = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not (max >= 1 and lease > 0) then return redis.error_reply('RATELIMIT slots or lease out of range') end
local now = read_now(given)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
local held = redis.call('ZCARD', KEYS[1])
if held >= max and not redis.call('ZSCORE', KEYS[1], id) then return { 0, held } end
held = held + redis.call('ZADD', KEYS[1], string.format('%.0f', now + lease), id)
local ttl = math.ceil(lease / 1000) + (given and 3600000 or 2)
if redis.call('PTTL', KEYS[1]) < ttl then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ttl)) end
return { 1, held }
