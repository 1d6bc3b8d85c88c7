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

/** A clock that can be waited for. */
export interface Scheduler extends Clock {
  /**
   * Calls `run` once, when `ms` have passed on the monotonic clock: never earlier, and later than any timer of Node
   * can count if need be. Keeps no process alive.
   *
   * @param ms at least 0, may be a fraction
   * @returns what calls it off; later than that it does nothing
   */
  after(ms: number, run: () => void): () => void;
}

/** Draws evenly from 0 up to 1. Not for secrets. */
export const chance = (): number => Math.random();

/** Node's timers count 32 bits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The process clock. The wall clock is read once at the start and then advances monotonically by
 * `performance`, with microsecond resolution: a bucket of capacity 1 at 5000 tokens a second loses
 * four fifths of its tokens on a clock that only ticks whole milliseconds.
 */
export const systemClock: Scheduler = {
  nowMs: () => performance.timeOrigin + performance.now(),
  monotonicMs: () => performance.now(),
  after(ms, run) {
    const dueMs = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const wait = () => {
      const leftMs = Math.max(0, Math.ceil(dueMs - performance.now()));
      timer = setTimeout(look, Math.min(LONGEST_TIMER_MS, leftMs)).unref();
    };
    // Timers fire up to a millisecond early.
    const look = () => (performance.now() < dueMs ? wait() : run());
    wait();
    return () => clearTimeout(timer);
  },
};
