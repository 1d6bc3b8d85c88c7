-- Reads a configuration, and the time by which it is to be judged.
-- @keys 1
-- KEYS  1           the configuration; see lib/configuration
-- ARGV  1           time in µs for tests; '' = the server's clock
-- Reply [1]         the server's time in µs
--       [2]         the text, or nil
-- @include lib/now

return { read_now(tonumber(ARGV[1])), redis.call('GET', KEYS[1]) }
