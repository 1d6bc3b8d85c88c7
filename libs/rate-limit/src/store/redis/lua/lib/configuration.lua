-- How a configuration is stored: text, since people may want to read it.
--   "<blocked until> <limit until> <n> <q> <capacity> <fingerprint>\n<JSON of the limit as it was written>"
-- Times in µs of the server's clock; 0 = not blocked; -1 = the limit stays until it is cleared. n = 0: no limit.
-- Whatever cannot be read counts as absent.

-- Returns the parts that are in force: blocked until (0: not), n (nil: no limit), q, capacity, fingerprint, and
-- until when, JSON.
local function configured(text, now)
  if not text then return 0 end
  local blocked, ends, n, q, cap, mark, json = string.match(text, '^(%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+)\n(.*)$')
  if not blocked then return 0 end
  blocked, ends, n = tonumber(blocked), tonumber(ends), tonumber(n)
  if blocked <= now then blocked = 0 end
  if n == 0 or (ends >= 0 and ends <= now) then return blocked end
  return blocked, n, tonumber(q), tonumber(cap), tonumber(mark), ends, json
end
