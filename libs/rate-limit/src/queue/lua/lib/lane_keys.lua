-- The keys of a lane's scripts, always in this order. Pure.

local function lane_keys(keys)
  return { state = keys[1], wait = keys[2], jobs = keys[3], next = keys[4], pending = keys[5], open = keys[6],
    lanes = keys[7], meta = keys[8], bucket = keys[9], share = keys[10], adding = keys[11] }
end
