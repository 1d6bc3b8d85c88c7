// Time: decides when the heads of the lanes are looked at. Order and tokens are the scripts' business.
import type { Channels } from './channels';
import type { Lanes } from './lanes';
import type { Due, Pacing } from './pacing';
import type { QueueNames } from './queue-names';

/** The leader's lease. A leader that dies is followed after this long. */
const LEASE_MS = 600;
/** The longest sleep: renews the lease, and finds what a lost wake-up message would have told. */
const LONGEST_SLEEP_MS = 200;
/** Jobs are promoted this much ahead, which is about what a pick-up takes; they start at their slot. */
const LOOK_AHEAD_US = 3000;
const MOST_LANES = 64;
const MOST_GRANTS = 32;
/** After an error of Redis. */
const RETRY_MS = 100;
const US_PER_MS = 1000;

/** What a pacer works with. */
export interface PacerOptions {
  readonly id: string;
  readonly names: QueueNames;
  readonly pacing: Pacing;
  readonly channels: Channels;
  /** Jobs that this process runs at once. */
  readonly concurrency: number;
  readonly lanes: Lanes;
  /** The share of all that can run at once which one lane may use. */
  readonly mostInFlight: (concurrency: number) => number;
  /** Hands a job to the workers. Must not throw. */
  readonly promote: (id: string) => void;
  /** Told of errors of Redis; each is retried. */
  readonly onError: (error: unknown) => void;
}

/**
 * Paces the lanes of a queue. Every worker process has one; the one that holds the lease grants the
 * heads of the lanes on a timer of its own process. It never blocks on Redis, whose timed wake-ups
 * are up to 100 ms late on an idle server.
 */
export class Pacer {
  readonly #options: PacerOptions;
  #closing = false;
  #stopped: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  /** A wake-up came while a round was under way. */
  #woken = false;
  #mostInFlight = 1;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#mostInFlight = options.mostInFlight(options.concurrency);
  }

  /** Jobs of one lane that may be on their way or run at once, over all processes. */
  get mostInFlight(): number {
    return this.#mostInFlight;
  }

  async start(): Promise<void> {
    const { channels, names } = this.#options;
    await channels.listen(names.wake, () => this.wake());
    this.#stopped = this.#loop();
  }

  /** Looks at the lanes now. */
  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Grants nothing more, and gives the lease to whoever wants it. */
  async close(): Promise<void> {
    this.#closing = true;
    this.wake();
    await this.#stopped;
    const { pacing, id, concurrency } = this.#options;
    await pacing.tick(id, 0, 0, concurrency).catch(() => undefined);
  }

  async #loop(): Promise<void> {
    while (!this.#closing) {
      this.#woken = false;
      let sleepMs: number;
      try {
        sleepMs = await this.#round();
      } catch (error) {
        this.#options.onError(error);
        sleepMs = RETRY_MS;
      }
      if (sleepMs > 0 && !this.#woken && !this.#closing) await this.#sleep(sleepMs);
    }
  }

  /** One look at everything that is due; returns how long nothing will be. */
  async #round(): Promise<number> {
    const { pacing, id, concurrency, mostInFlight } = this.#options;
    const tick = await pacing.tick(id, LEASE_MS, MOST_LANES, concurrency);
    this.#mostInFlight = mostInFlight(tick.concurrency);
    if (!tick.leads) return LONGEST_SLEEP_MS;
    const horizonUs = tick.nowUs + LOOK_AHEAD_US;
    const looks = await Promise.all(
      tick.due.map(async (due) =>
        due.atUs > horizonUs ? due.atUs - tick.nowUs : this.#grant(due),
      ),
    );
    const soonestUs = Math.min(LONGEST_SLEEP_MS * US_PER_MS, ...looks);
    return Math.max(0, Math.ceil((soonestUs - LOOK_AHEAD_US) / US_PER_MS));
  }

  /** Starts what may start of one lane; returns in how many µs it wants to be looked at again. */
  async #grant(due: Due): Promise<number> {
    const { lanes, pacing, promote } = this.#options;
    const lane = lanes.fromRecord(due.lane, due.record);
    const { nowUs, lookUs, ids } = await pacing.grant(lane, {
      mostInFlight: this.#mostInFlight,
      lookAheadUs: LOOK_AHEAD_US,
      most: MOST_GRANTS,
    });
    ids.forEach(promote);
    return lookUs === 0 ? Infinity : Math.max(0, lookUs - nowUs);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
