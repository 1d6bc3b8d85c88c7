// Measures how late the event loop of this process is.
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** How often Node looks. What it measures is the time between two looks. */
const RESOLUTION_MS = 10;
const NS_PER_MS = 1e6;

/** The lateness of the event loop, by Node's own monitor; it keeps no process alive. */
export class EventLoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #lastMs = 0;

  constructor() {
    this.#histogram.enable();
  }

  /** The average since the last call, in ms; the last answer again when Node has not looked since. */
  readMs(): number {
    const { mean } = this.#histogram;
    if (Number.isFinite(mean) && mean > 0) {
      this.#lastMs = Math.max(0, mean / NS_PER_MS - RESOLUTION_MS);
      this.#histogram.reset();
    }
    return this.#lastMs;
  }

  close(): void {
    this.#histogram.disable();
  }
}
