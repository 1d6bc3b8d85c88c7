// Twin of store/redis/lua/lib/token_bucket.lua: same functions, same order, same names. Pure: no I/O, no clock.
//
// How a bucket is counted, and why.
//
// The simplest limiter remembers the last request and refuses the next one for 1/rate seconds. It
// forgets idle time: a client that was quiet for a minute gets no more than one that never stopped.
// So remember how much was left unused, up to a capacity: that is a bucket of tokens which fills at
// the rate and from which every request takes its cost.
//
// A timer per bucket could add the tokens. It is not needed: what a bucket holds is a straight line
// in time, so it is enough to keep one point of the line, `c` credits at time `t`, and to draw the
// line up to `now` when somebody asks (`refill`). Nothing happens between two requests.
//
// Tokens are counted in credits, because a token is too coarse a unit: at 10 per second a request
// 3 ms after the last one finds 0.03 token. A limiter that floors this to 0 and moves `t` never
// refills for a client that polls; one that keeps a float wakes waiters a hair too early. With the
// rate as the fraction n/q tokens per millisecond, one token is 1000·q credits and one microsecond
// adds exactly n credits: everything is an integer, nothing is ever rounded.
//
//   rate 10/s, capacity 20: n = 1, q = 100, one token = 100 000 credits, capacity = 2 000 000
//   t = 0 µs        full         take 1 → allowed, c = 1 900 000
//   … 19 more                    take 1 → allowed, c = 0
//   t = 3 000 µs    c = 3 000    take 1 → short of 97 000 credits → wait 97 000 µs
//   t = 100 000 µs  c = 100 000  take 1 → allowed, c = 0: exactly when it was told to come back
//
// Credits may go below zero: that is debt, a token promised for a later moment. "Take `cost` if the
// wait for it is at most `maxWait`" is then the one primitive under everything: with maxWait 0 it
// lets pass or refuses; with more it hands out a start time, and whoever comes next waits behind.
//
// What holds: credits never exceed the capacity; a refusal changes nothing; in any span T at most
// capacity + rate·T is let through; who comes back after exactly the wait he was told passes, if
// nobody came in between; two costs at one instant are the same as their sum; an absent bucket is a
// full one, so forgetting a bucket when it is full changes nothing.
//
// Exact in doubles: |c| ≤ 2^51, so every sum used is an integer below 2^53; `gain` may round above
// that, but rounding is monotone and the other side of the comparison is representable; floor and
// ceil of a quotient a/b are right while a + b ≤ 2^53.
//
// Instead one could keep the time at which the bucket is full (GCRA). It is one number smaller, but
// a changed rate then reinterprets the tokens that were already spent, and only rates with a whole
// interval are exact.
import { MAX_CREDITS } from '../limit';

/** Credits and the time they were counted at. */
export type Level = readonly [c: number, t: number];

/** Granted or not, the wait in µs (0 = now), and the credits afterwards. */
export type Taken = readonly [ok: boolean, wait: number, c: number];

/**
 * Draws the line up to `now`. A clock that went back adds nothing and takes nothing, so re-lived
 * time is not credited twice; but a step back by more than the time to full restarts the bucket's
 * clock at `now`, so that no bucket is frozen for longer than its own time to full.
 */
export function refill(c: number, t: number, n: number, cap: number, now: number): Level {
  const missing = cap - c;
  if (missing <= 0) return [cap, now];
  if (now >= t) {
    const gain = (now - t) * n;
    if (gain >= missing) return [cap, now];
    return [c + gain, now];
  }
  if ((t - now) * n > missing) return [c, now];
  return [c, t];
}

/** Credits counted under `from` in the unit `to`: whole thousandths of a token carry over, rounded down. */
export function rescale(c: number, from: number, to: number, cap: number): number {
  const k = Math.floor(c / from);
  return Math.max(-MAX_CREDITS, Math.min(cap, k * to));
}

/** After `refill`. A refusal leaves the credits alone. */
export function take(
  c: number,
  t: number,
  n: number,
  cost: number,
  maxWait: number,
  now: number,
): Taken {
  if (cost <= c) return [true, 0, c - cost];
  const wait = Math.ceil((cost - c) / n) + (t - now);
  if (wait <= maxWait && cost - c <= MAX_CREDITS) return [true, wait, c - cost];
  return [false, wait, c];
}

/** After `refill`. µs until the bucket is full; 0 when it is. */
export function timeToFull(c: number, t: number, n: number, cap: number, now: number): number {
  if (c >= cap) return 0;
  return Math.ceil((cap - c) / n) + (t - now);
}

/**
 * After `refill`. Gives back what a grant of `cost` for the moment `startsAt` took, less what was
 * promised to others on top of it since: nobody behind is overtaken, and the pace of the starts
 * holds (Go's `Reservation.Cancel` restores the same amount).
 */
export function giveBack(
  c: number,
  t: number,
  n: number,
  cap: number,
  cost: number,
  startsAt: number,
): number {
  const later = Math.max(0, Math.max(0, -c) - Math.max(0, startsAt - t) * n);
  return Math.min(cap, c + Math.max(0, cost - later));
}

/**
 * After `refill`. Adds credits, or takes them without asking: never above full, and into debt as deep as can be
 * counted.
 */
export function adjust(c: number, cap: number, credits: number): number {
  return Math.max(-MAX_CREDITS, Math.min(cap, c + credits));
}
