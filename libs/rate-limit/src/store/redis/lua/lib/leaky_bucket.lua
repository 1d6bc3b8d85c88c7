-- Twin of core/algorithms/leaky-bucket.ts: same functions, same order. Pure: numbers in, numbers out.

local function leaky_take(c, t, n, cap, cost, max_wait, now)
  local wait = c >= cap and 0 or math.ceil((cap - c) / n) + (t - now)
  if wait <= max_wait and c >= 0 then return true, wait, c - cost end
  return false, wait, c
end

local function leaky_give_back(c, t, n, cap, cost, starts_at)
  if starts_at < t then return c end
  local later = math.max(0, cap - c - (starts_at - t) * n - cost)
  return math.min(cap, c + math.max(0, cost - later))
end
