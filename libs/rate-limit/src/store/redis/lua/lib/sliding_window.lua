-- Twin of core/algorithms/sliding-window.ts (the words are there): same functions, same order. Pure: numbers in, numbers
-- out. All products are integers below 2^53.

local function step_length(length, cap)
  return math.ceil((cap * length) / 4503599627370496)
end

local function weighted(t, p, length, cap, now)
  if p == 0 then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  local gone = math.floor(math.max(0, now - t) / step)
  return math.ceil((p * (steps - gone)) / steps)
end

local function fades_to(room, p, length, cap)
  if p <= room then return 0 end
  local step = step_length(length, cap)
  local steps = math.ceil(length / step)
  return math.min(length, (steps - math.floor((room * steps) / p)) * step)
end

local function sliding_take(c, t, p, length, cap, cost, now)
  if cost <= c - weighted(t, p, length, cap, now) then return true, 0, c - cost end
  if cost <= c then
    local after = fades_to(c - cost, p, length, cap)
    if after < length then return false, t + after - now, c end
  end
  return false, t + length + fades_to(cap - cost, math.min(cap, cap - c), length, cap) - now, c
end

local function sliding_time_to_full(c, t, p, length, cap, now)
  if c < cap then return t + 2 * length - now end
  if p > 0 then return t + length - now end
  return 0
end
