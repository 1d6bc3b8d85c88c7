-- Frees the slot of an id. Twin of core/leases.ts (`Leases.release`).
-- @keys 1
-- KEYS  1           slots: a sorted set, ids by the end of their leases in µs
-- ARGV  1           id
-- Reply 1 = it was freed, 0 = the id had none: its lease had ended, or it was released before
return redis.call('ZREM', KEYS[1], ARGV[1])
