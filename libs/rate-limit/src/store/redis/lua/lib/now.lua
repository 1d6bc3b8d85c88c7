-- The only clock of the scripts: the server's TIME in integer µs, read once. Tests hand in a time.

local function read_now(given)
  if given then return given end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
