-- How a bucket is stored: 28 bytes, little-endian.
--   byte   0      format 1, algorithm token-bucket (0x11)
--   bytes  1-3    fingerprint of the limit that last wrote
--   bytes  4-27   doubles: credits, time in µs, q (credits of a thousandth token: the unit)
-- Absent means full. Whatever cannot be read (another format or algorithm, foreign or broken bytes)
-- counts as absent too: a bucket may be forgotten, never stuck.

-- Returns credits in the unit `q`, their time, and the fingerprint (nil: no bucket).
local function decode(value, q, cap, now, rescale)
  if value and #value == 28 and string.byte(value, 1) == 17 then
    local _, fingerprint, c, t, unit = struct.unpack('<BI3ddd', value)
    if c >= -2251799813685248 and c <= 2251799813685248 and t >= 0 and t < 9007199254740992
      and unit >= 1 and unit <= 2251799813685248 then
      if unit ~= q then c = rescale(c, unit, q, cap) end
      return c, t, fingerprint
    end
  end
  return cap, now, nil
end

local function encode(fingerprint, c, t, q)
  return struct.pack('<BI3ddd', 17, fingerprint, c, t, q)
end
