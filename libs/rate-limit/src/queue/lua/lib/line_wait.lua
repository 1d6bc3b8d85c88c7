-- When a job of a line can start. Pure.
-- @include lib/paced_bucket

-- µs until a job of `cost` starts behind `before` (both in thousandths). `claimed` of what is before it was taken
-- from the buckets already, for the moment `claim` (µs): the head's; 0 without.
local function line_wait(bucket, share, cost, before, claim, claimed, now)
  if before == 0 and claimed > 0 then return math.max(0, claim - now) end
  local unpaid = math.max(0, before - claimed)
  local wait = wait_for(bucket, cost, unpaid, now)
  if share then wait = math.max(wait, wait_for(share, cost, unpaid, now)) end
  return wait
end
