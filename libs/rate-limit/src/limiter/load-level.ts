// Pure: how hard a process is pressed, as one number that rises gradually and falls slowly. Reads no clock and no load.

/** What was read of a process. */
export interface LoadReading {
  /** How late the event loop was on average since the last reading, in ms. */
  readonly eventLoopDelayMs: number;
  /** Requests that this process has in flight. */
  readonly inFlight: number;
}

/** The readings between which pressure rises from 0 to 1. */
export interface LoadRange {
  /** Up to here all is well. At least 0. */
  readonly from: number;
  /** From here on as much is shed as ever will be. More than `from`. */
  readonly full: number;
}

/** What presses, and how fast the level follows. */
export interface LoadLevelOptions {
  readonly eventLoopDelayMs: LoadRange | undefined;
  readonly inFlight: LoadRange | undefined;
  /** From level 0 to 1 under full pressure, in ms. */
  readonly riseMs: number;
  /** From level 1 to 0 without any, in ms. */
  readonly fallMs: number;
  /** Between two readings, in ms. */
  readonly sampleMs: number;
}

/** However long ago the last one was, no single reading moves the level up by more than this. */
const MOST_RISE = 1 / 4;

/**
 * The level of load: 0 at rest, 1 at most. It moves towards the pressure of the latest reading, up in `riseMs`, down in
 * `fallMs`: shedding relieves a process at once, and what was shed would all come back at once if the level fell with
 * its pressure. A reading is taken when somebody asks, at most one in `sampleMs`, so that no timer is needed.
 */
export class LoadLevel {
  #level = 0;
  #readAtMs: number;

  constructor(
    private readonly options: LoadLevelOptions,
    nowMs: number,
  ) {
    this.#readAtMs = nowMs;
  }

  /** The level at this moment of a monotonic clock; asks `read` when it is time for a new reading. */
  at(nowMs: number, read: () => LoadReading): number {
    const { sampleMs, riseMs, fallMs } = this.options;
    const passedMs = nowMs - this.#readAtMs;
    if (passedMs < sampleMs) return this.#level;
    this.#readAtMs = nowMs;
    const pressure = this.#pressure(read());
    this.#level =
      pressure > this.#level
        ? Math.min(pressure, this.#level + Math.min(MOST_RISE, passedMs / riseMs))
        : Math.max(pressure, this.#level - passedMs / fallMs);
    return this.#level;
  }

  /** The worst of the signals. */
  #pressure(reading: LoadReading): number {
    const { eventLoopDelayMs, inFlight } = this.options;
    return Math.max(
      pressureOf(reading.eventLoopDelayMs, eventLoopDelayMs),
      pressureOf(reading.inFlight, inFlight),
    );
  }
}

function pressureOf(value: number, range: LoadRange | undefined): number {
  // A reading that is no number says nothing.
  if (range === undefined || !(value > range.from)) return 0;
  return Math.min(1, (value - range.from) / (range.full - range.from));
}
