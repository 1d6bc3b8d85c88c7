// Pure: how fast a cold downstream may be called. Guava's SmoothWarmingUp, by its definition
// (com.google.common.util.concurrent.SmoothRateLimiter): unused permits are stored, and the more there are, the colder the
// downstream is and the longer each of them takes, up to three times the interval of a warm one.
//
//   interval            threshold = warmUp / (2 × stable)        stored permits at which warming begins
//   3 × stable    /     most      = threshold + 2 × warmUp / (stable + 3 × stable)
//   stable   ____/      interval of a stored permit p above the threshold = stable + slope × (p − threshold)
//
// Taking all that are stored above the threshold takes exactly `warmUpMs`; storing them again takes `warmUpMs` of silence.

const COLD_FACTOR = 3;

/** The pace of one caller's calls; begins cold. Times in ms of one clock. */
export class WarmUp {
  readonly #stableMs: number;
  readonly #threshold: number;
  readonly #most: number;
  readonly #slopeMs: number;
  /** Silence that stores one permit. */
  readonly #coolDownMs: number;
  #stored: number;
  #nextFreeMs: number;

  constructor(
    readonly ratePerSecond: number,
    readonly warmUpMs: number,
    nowMs: number,
  ) {
    this.#stableMs = 1000 / ratePerSecond;
    this.#threshold = warmUpMs / (2 * this.#stableMs);
    this.#most = this.#threshold + (2 * warmUpMs) / ((1 + COLD_FACTOR) * this.#stableMs);
    this.#slopeMs = ((COLD_FACTOR - 1) * this.#stableMs) / (this.#most - this.#threshold);
    this.#coolDownMs = warmUpMs / this.#most;
    this.#stored = this.#most;
    this.#nextFreeMs = nowMs;
  }

  /** Milliseconds until the next call may start; 0 = now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#nextFreeMs - nowMs);
  }

  /** A call of so many permits starts. It is the next one that waits for it. */
  start(permits: number, nowMs: number): void {
    if (nowMs > this.#nextFreeMs) {
      const rested = (nowMs - this.#nextFreeMs) / this.#coolDownMs;
      this.#stored = Math.min(this.#most, this.#stored + rested);
      this.#nextFreeMs = nowMs;
    }
    const stored = Math.min(permits, this.#stored);
    const cold = Math.min(stored, Math.max(0, this.#stored - this.#threshold));
    const above = Math.max(0, this.#stored - this.#threshold);
    const coldMs = (cold * (this.#intervalMs(above) + this.#intervalMs(above - cold))) / 2;
    this.#nextFreeMs += coldMs + (permits - cold) * this.#stableMs;
    this.#stored -= stored;
  }

  #intervalMs(above: number): number {
    return this.#stableMs + above * this.#slopeMs;
  }
}
