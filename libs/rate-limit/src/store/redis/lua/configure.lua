-- Changes one half of a configuration: the limit, or the block. The other half stays.
-- @keys 1
-- KEYS  1           the configuration; see lib/configuration
-- ARGV  1           time in µs for tests; '' = the server's clock. TTLs are an hour longer then
--       2           'limit' or 'block'
--       3           how long from now, in µs: 0 ends it now; -1 (limit only): until it is cleared
--       4           of a limit: "<n> <q> <capacity> <fingerprint>"
--       5           of a limit: JSON of it as it was written
-- Reply 1
-- TTL   until both have ended; none while a limit stays until it is cleared. Nothing left: deleted.
-- @include lib/now
-- @include lib/configuration

local given, half, lasts = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
if not (lasts >= 0 or (lasts == -1 and half == 'limit')) then return redis.error_reply('RATELIMIT time out of range') end
local now = read_now(given)
local blocked, n, q, cap, mark, ends, json = configured(redis.call('GET', KEYS[1]), now)
local numbers = n and string.format('%.0f %.0f %.0f %.0f', n, q, cap, mark) or '0 0 0 0'
local until_us = lasts > 0 and now + lasts or lasts
if half == 'block' then
  blocked = until_us
elseif until_us == 0 then
  n, numbers, ends, json = nil, '0 0 0 0', 0, ''
else
  n, numbers, ends, json = 1, ARGV[4], until_us, ARGV[5]
end
ends = n and ends or 0
if blocked == 0 and not n then
  redis.call('DEL', KEYS[1])
  return 1
end
local text = string.format('%.0f %.0f ', blocked, ends) .. numbers .. '\n' .. (json or '')
if ends == -1 then
  redis.call('SET', KEYS[1], text)
else
  local ttl = math.ceil((math.max(blocked, ends) - now) / 1000) + (given and 3600000 or 2)
  redis.call('SET', KEYS[1], text, 'PX', string.format('%.0f', ttl))
end
return 1
