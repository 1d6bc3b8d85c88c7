// Pure: what both window algorithms share. Twin of store/redis/lua/lib/window.lua: same functions, same order.
//
// Windows stand at multiples of their length since the epoch. A window limit counts in thousandths of a token, one credit
// each; what is kept is how much of the current window is left (`c` = capacity − used), where that window begins (`t`),
// and how much of the one before it was used (`p`). There is no debt: nothing can be promised for a later window.

/** What is left of the window that begins at `t`, and what was used of the one before. */
export type Windows = readonly [c: number, t: number, p: number];

/** The beginning of the window in which `now` lies. */
export function windowStart(now: number, length: number): number {
  return now - (now % length);
}

/**
 * Moves on to the window of `now`. A clock that went back stays in the window it was in, so nothing is counted twice;
 * but a step back by more than two windows begins anew at `now`, with what was used still used.
 */
export function roll(
  c: number,
  t: number,
  p: number,
  length: number,
  cap: number,
  now: number,
): Windows {
  if (now < t) return t - now > 2 * length ? [c, windowStart(now, length), p] : [c, t, p];
  if (now < t + length) return [c, t, p];
  if (now < t + 2 * length) return [cap, t + length, Math.min(cap, cap - c)];
  return [cap, windowStart(now, length), 0];
}

/**
 * What was used stays used under another limit: of another capacity (more than it may have been used: `c` is below 0
 * then), or with windows of another length, one for one, so that what still counts goes on counting.
 */
export function reframe(
  used: number,
  t: number,
  p: number,
  from: number,
  length: number,
  cap: number,
  now: number,
): Windows {
  if (from === length) return [cap - used, t, Math.min(cap, p)];
  const start = windowStart(now, length);
  // Not before the one that it was: two limits that take turns would open a window each.
  if (now < t + from) return [cap - used, Math.max(t, start), Math.min(cap, p)];
  return [cap, start, now < t + 2 * from ? Math.min(cap, used) : 0];
}

/** Adds credits to the current window, never above full, or takes them without asking, never more than are left. */
export function adjust(c: number, cap: number, credits: number): number {
  return Math.min(cap, Math.max(Math.min(0, c), c + credits));
}
