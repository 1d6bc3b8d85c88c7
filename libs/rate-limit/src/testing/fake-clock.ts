// A clock that moves when a test says so. Reads no system clock.
import type { Clock } from '../core/clock';

/** 2026-01-01T00:00:00Z */
const START_MS = 1_767_225_600_000;

/** A {@link Clock} for tests. It stands still until it is moved. */
export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;

  /** @param startMs wall-clock time in milliseconds since the Unix epoch; default: the start of 2026 */
  constructor(startMs = START_MS) {
    this.#wallMs = startMs;
  }

  nowMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Lets time pass, on both clocks. `ms` may be a fraction, and is not negative: see {@link set}. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`advance(${ms}): time does not run back; use set()`);
    this.#wallMs += ms;
    this.#monotonicMs += ms;
  }

  /** Sets the wall clock, forward or back, as an operator or NTP would. No time passes. */
  set(ms: number): void {
    this.#wallMs = ms;
  }
}
