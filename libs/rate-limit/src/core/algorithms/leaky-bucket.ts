// Twin of store/redis/lua/lib/leaky_bucket.lua: same functions, same order. Pure: no I/O, no clock.
//
// Even spacing: one token's worth starts every 1/rate, whatever was left unused before; up to `capacity` tokens may wait
// for their moment. What is kept is that of the token bucket, and refills like it: `capacity − c` is what the lane still
// has to work off. The difference is when a call may start: when the lane is free, not when a token is there.

/** Granted or not, the wait in µs (0 = now), and the credits afterwards. */
type Taken = readonly [ok: boolean, wait: number, c: number];

/** After the token bucket's `refill`. A refusal leaves the credits alone. */
export function take(
  c: number,
  t: number,
  n: number,
  cap: number,
  cost: number,
  maxWait: number,
  now: number,
): Taken {
  const wait = c >= cap ? 0 : Math.ceil((cap - c) / n) + (t - now);
  // Below 0 more than the capacity waits already.
  if (wait <= maxWait && c >= 0) return [true, wait, c - cost];
  return [false, wait, c];
}

/**
 * After `refill`. Gives back the place in the lane of a grant of `cost` for the moment `startsAt`, less what was promised
 * behind it since. What has started has had its place.
 */
export function giveBack(
  c: number,
  t: number,
  n: number,
  cap: number,
  cost: number,
  startsAt: number,
): number {
  if (startsAt < t) return c;
  const later = Math.max(0, cap - c - (startsAt - t) * n - cost);
  return Math.min(cap, c + Math.max(0, cost - later));
}
