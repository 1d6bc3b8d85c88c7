-- The seam between the algorithms and the scripts. Twin of core/algorithms/algorithm.ts: one level (c, t, p), whatever
-- the algorithm. Which one stands above the 24 bits of a limit's fingerprint:
--   0 token-bucket, 1 sliding-window, 2 fixed-window, 3 leaky-bucket
-- Of windows `n` is their length in µs and `q` is 1.
-- @include lib/token_bucket
-- @include lib/window
-- @include lib/sliding_window
-- @include lib/fixed_window
-- @include lib/leaky_bucket
-- @include lib/bucket_value

local function kind_of(mark)
  return math.floor(mark / 16777216)
end

-- Returns the level at `now`; then the fingerprint and the time that were stored (nil: no bucket).
local function load_level(kind, value, n, q, cap, now)
  if kind == 0 or kind == 3 then
    local c, before, found = decode(value, q, cap, now, rescale, kind == 3 and 20 or 17)
    local t
    c, t = refill(c, before, n, cap, now)
    return c, t, 0, found, before
  end
  local used, before, p, length, found = decode_windows(value, 17 + kind)
  if not found then return cap, window_start(now, n), 0, nil, 0 end
  local c, t
  c, t, p = reframe(used, before, p, length, n, cap, now)
  c, t, p = roll(c, t, p, n, cap, now)
  if kind == 2 then p = 0 end
  return c, t, p, found, before
end

local function take_level(kind, c, t, p, n, cap, price, max_wait, now)
  if kind == 0 then return take(c, t, n, price, max_wait, now) end
  if kind == 1 then return sliding_take(c, t, p, n, cap, price, now) end
  if kind == 2 then return fixed_take(c, t, n, price, now) end
  return leaky_take(c, t, n, cap, price, max_wait, now)
end

local function full_in(kind, c, t, p, n, cap, now)
  if kind == 1 then return sliding_time_to_full(c, t, p, n, cap, now) end
  if kind == 2 then return fixed_time_to_full(c, t, n, cap, now) end
  return time_to_full(c, t, n, cap, now)
end

local function give_back_level(kind, c, t, n, cap, price, starts_at)
  if kind == 0 then return give_back(c, t, n, cap, price, starts_at) end
  if kind == 3 then return leaky_give_back(c, t, n, cap, price, starts_at) end
  return window_adjust(c, cap, price)
end

local function adjust_level(kind, c, cap, credits)
  if kind == 0 or kind == 3 then return adjust(c, cap, credits) end
  return window_adjust(c, cap, credits)
end

local function encode_level(kind, mark, c, t, p, n, q, cap)
  mark = mark % 16777216
  if kind == 0 then return encode(mark, c, t, q) end
  if kind == 3 then return encode(mark, c, t, q, 20) end
  return encode_windows(17 + kind, mark, cap - c, t, n, p)
end

-- Writes a level. One of which nothing is missing any more is the same as none. GET, for its error where the key holds
-- what is no text, and so not ours: MGET only calls it absent.
local function save_level(key, kind, mark, c, t, p, n, q, cap, now, spare_ttl)
  local full = full_in(kind, c, t, p, n, cap, now)
  if full <= 0 then
    redis.call('DEL', key)
  else
    redis.call('SET', key, encode_level(kind, mark, c, t, p, n, q, cap), 'PX',
      string.format('%.0f', math.ceil(full / 1000) + spare_ttl), 'GET')
  end
end
