// The only reader of the system clocks. Everything else is handed a Clock or a number.

/** A source of time. Units are milliseconds; fractions are allowed and carry the microseconds. */
export interface Clock {
  /**
   * Wall-clock time in milliseconds since the Unix epoch. May step back or forward; the core copes
   * (law 6 of `docs/model.md`).
   */
  nowMs(): number;
  /** Milliseconds of a clock that never steps. For deadlines and local waits only. */
  monotonicMs(): number;
}

/**
 * The process clock. The wall clock is read once at the start and then advances monotonically by
 * `performance`, with microsecond resolution: a bucket of capacity 1 at 5000 tokens a second loses
 * four fifths of its tokens on a clock that only ticks whole milliseconds.
 */
export const systemClock: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  monotonicMs: () => performance.now(),
};
