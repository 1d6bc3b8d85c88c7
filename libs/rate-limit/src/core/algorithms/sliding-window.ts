// Twin of store/redis/lua/lib/sliding_window.lua: same functions, same order. Pure: no I/O, no clock.
//
// Two counters stand for a log of every call: what was used of the current window counts whole, what was used of the one
// before counts by the share of it that a window ending now would still cover, as if it had been spread evenly:
//
//   prev × (1 − elapsed/length) + current + cost ≤ capacity
//
// It was not spread evenly, so the count is not exact. The worst case in any span of one window's length is just under
// twice the limit: all of one window at its end, and the next one as soon as each token of it fades. What is kept and how
// windows move on is in window.ts.
//
// The share is counted in `steps` of the window, so that prev × steps stays an exact integer below 2^53: a step is a
// microsecond unless limit × length is beyond 2^52. The share is rounded up, which only ever admits less.
import type { Windows } from './window';

/** Granted or not, the wait in µs (0 = now, else the same cost passes then), and the credits afterwards. */
type Taken = readonly [ok: boolean, wait: number, c: number];

/** The length of a step in µs: the shortest with which capacity × steps stays within 2^52. */
export function stepLength(length: number, cap: number): number {
  return Math.ceil((cap * length) / 2 ** 52);
}

/** What counts of the window before, at `now`, in credits. */
export function weighted(t: number, p: number, length: number, cap: number, now: number): number {
  if (p === 0) return 0;
  const step = stepLength(length, cap);
  const steps = Math.ceil(length / step);
  const gone = Math.floor(Math.max(0, now - t) / step);
  return Math.ceil((p * (steps - gone)) / steps);
}

/** µs after the beginning of a window from which on at most `room` of the window before counts; the length: in the next one. */
function fadesTo(room: number, p: number, length: number, cap: number): number {
  if (p <= room) return 0;
  const step = stepLength(length, cap);
  const steps = Math.ceil(length / step);
  return Math.min(length, (steps - Math.floor((room * steps) / p)) * step);
}

/** After `roll`. */
export function take(
  c: number,
  t: number,
  p: number,
  length: number,
  cap: number,
  cost: number,
  now: number,
): Taken {
  if (cost <= c - weighted(t, p, length, cap, now)) return [true, 0, c - cost];
  if (cost <= c) {
    const after = fadesTo(c - cost, p, length, cap);
    if (after < length) return [false, t + after - now, c];
  }
  // In the next window what was used of this one fades.
  return [false, t + length + fadesTo(cap - cost, Math.min(cap, cap - c), length, cap) - now, c];
}

/** After `roll`. µs until nothing counts any more; 0 when nothing does. */
export function timeToFull([c, t, p]: Windows, length: number, cap: number, now: number): number {
  if (c < cap) return t + 2 * length - now;
  return p > 0 ? t + length - now : 0;
}
