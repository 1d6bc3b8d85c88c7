-- How a bucket is stored, little-endian: 28 bytes, of windows 36.
--   byte   0      format 1 and the algorithm: 0x11 token-bucket, 0x12 sliding-window, 0x13 fixed-window, 0x14 leaky-bucket
--   bytes  1-3    fingerprint of the limit that last wrote
--   bytes  4-27   doubles: credits, time in µs, q (credits of a thousandth token: the unit)
--   of windows    doubles: thousandths used of the current one, its beginning in µs, its length in µs, thousandths used of
--                 the one before
-- Absent means full. Whatever cannot be read (another format or algorithm, foreign or broken bytes)
-- counts as absent too: a bucket may be forgotten, never stuck.

-- Returns credits in the unit `q`, their time, and the fingerprint (nil: no bucket).
local function decode(value, q, cap, now, rescale, format)
  if value and #value == 28 and string.byte(value, 1) == (format or 17) then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end

local function encode(fingerprint, c, t, q, format)
  return struct.pack('<BI3ddd', format or 17, fingerprint, c, t, q)
end

-- Returns what was used of the window, its beginning, what was used of the one before, the length, and the fingerprint
-- (nil: no bucket).
local function decode_windows(value, format)
  if not value or #value ~= 36 or string.byte(value, 1) ~= format then return nil end
  local _, fingerprint, used, t, length, p = struct.unpack('<BI3dddd', value)
  if used >= 0 and used <= 9007199254740992 and t >= 0 and t < 9007199254740992 and p >= 0 and p <= 9007199254740992
    and length >= 1 and length < 9007199254740992 then
    return used, t, p, length, fingerprint
  end
  return nil
end

local function encode_windows(format, fingerprint, used, t, length, p)
  return struct.pack('<BI3dddd', format, fingerprint, used, t, length, p)
end
