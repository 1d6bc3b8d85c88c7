-- What is kept of a job until it ends: state|seq|cost|deadline|at|lane
--   state     w waiting its turn · g granted: it holds a token, and a worker is to start it · r running
--             f between two attempts, unpaid · x expired, not yet told to its worker
--   seq       its place in the order of the queue
--   cost      thousandths of a token
--   deadline  Redis time in ms after which it must not start; 0 = none
--   at        µs: the moment that a grant is for; else when it came into this state
-- Pure.

local function parse_record(text)
  if not text then return nil end
  local state, seq, cost, deadline, at, lane = string.match(text, '^(%a)|(%d+)|(%d+)|(%d+)|(%d+)|(.*)$')
  if not state then return nil end
  return { state = state, seq = tonumber(seq), cost = tonumber(cost), deadline = tonumber(deadline),
    at = tonumber(at), lane = lane }
end

local function format_record(job)
  return string.format('%s|%.0f|%.0f|%.0f|%.0f|%s', job.state, job.seq, job.cost, job.deadline, job.at, job.lane)
end

local function is_late(job, now_ms)
  return job.deadline > 0 and now_ms > job.deadline
end
