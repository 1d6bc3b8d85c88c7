-- Twin of core/algorithms/window.ts (the words are there): same functions, same order. Pure: numbers in, numbers out.

local function window_start(now, length)
  return now - now % length
end

local function roll(c, t, p, length, cap, now)
  if now < t then
    if t - now > 2 * length then return c, window_start(now, length), p end
    return c, t, p
  end
  if now < t + length then return c, t, p end
  if now < t + 2 * length then return cap, t + length, math.min(cap, cap - c) end
  return cap, window_start(now, length), 0
end

local function reframe(used, t, p, from, length, cap, now)
  if from == length then return cap - used, t, math.min(cap, p) end
  local start = window_start(now, length)
  if now < t + from then return cap - used, math.max(t, start), math.min(cap, p) end
  return cap, start, now < t + 2 * from and math.min(cap, used) or 0
end

local function window_adjust(c, cap, credits)
  return math.min(cap, math.max(math.min(0, c), c + credits))
end
