-- Twin of core/algorithms/token-bucket.ts (the essay is there): same functions, same order, same names.
-- Pure: numbers in, numbers out. All values are integers below 2^53.

local function refill(c, t, n, cap, now)
  local missing = cap - c
  if missing <= 0 then return cap, now end
  if now >= t then
    local gain = (now - t) * n
    if gain >= missing then return cap, now end
    return c + gain, now
  end
  if (t - now) * n > missing then return c, now end
  return c, t
end

local function rescale(c, from, to, cap)
  local k = math.floor(c / from)
  return math.max(-2251799813685248, math.min(cap, k * to))
end

local function take(c, t, n, cost, max_wait, now)
  if cost <= c then return true, 0, c - cost end
  local wait = math.ceil((cost - c) / n) + (t - now)
  if wait <= max_wait and cost - c <= 2251799813685248 then return true, wait, c - cost end
  return false, wait, c
end

local function time_to_full(c, t, n, cap, now)
  if c >= cap then return 0 end
  return math.ceil((cap - c) / n) + (t - now)
end

local function give_back(c, t, n, cap, cost, starts_at)
  local later = math.max(0, math.max(0, -c) - math.max(0, starts_at - t) * n)
  return math.min(cap, c + math.max(0, cost - later))
end

local function adjust(c, cap, credits)
  return math.max(-2251799813685248, math.min(cap, c + credits))
end
