-- Twin of core/algorithms/fixed-window.ts: same functions, same order. Pure: numbers in, numbers out.

local function fixed_take(c, t, length, cost, now)
  if cost <= c then return true, 0, c - cost end
  return false, t + length - now, c
end

local function fixed_time_to_full(c, t, length, cap, now)
  if c >= cap then return 0 end
  return t + length - now
end
