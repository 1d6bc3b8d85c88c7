// Twin of store/redis/lua/lib/fixed_window.lua: same functions, same order. Pure: no I/O, no clock.
//
// So much a window, and a new window is a new start. Twice the limit may pass within one window's length, around the
// moment where one ends: the coarsest of the four, and the simplest to explain to a customer ("1000 a day, from midnight
// UTC"). What is kept and how windows move on is in window.ts; `p` plays no part.

/** Granted or not, the wait in µs (0 = now), and the credits afterwards. */
type Taken = readonly [ok: boolean, wait: number, c: number];

/** After `roll`. */
export function take(c: number, t: number, length: number, cost: number, now: number): Taken {
  if (cost <= c) return [true, 0, c - cost];
  return [false, t + length - now, c];
}

/** After `roll`. µs until nothing is missing; 0 when nothing is. */
export function timeToFull(c: number, t: number, length: number, cap: number, now: number): number {
  return c >= cap ? 0 : t + length - now;
}
