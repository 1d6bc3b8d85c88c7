// Time: decides when the heads of the lanes are looked at. Order and tokens are the scripts' business.
import type { Channels } from './channels';
import type { Lane } from './lane';
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
/** Jobs past their deadline that are on their way to be told so; as many follow after a while. */
const MOST_LATE = 16;
const LATE_AGAIN_US = 10_000;
/** After an error of Redis. */
const RETRY_MS = 100;
/** A lane that this process has no numbers for is left to others, and looked at again after this long. */
const STRANGE_LANE_US = 1_000_000;
/** Message of the wake channel: nobody leads. Every other one is for the leader alone. */
const LEAD = 'lead';
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
  /** The same for one that may be on its way already. */
  readonly promoteOnce: (id: string) => void;
  /** Looks after what the leader before left half done. */
  readonly takeOver: () => Promise<void>;
  /** Told of errors of Redis; each is retried. */
  readonly onError: (error: unknown) => void;
  /** Told of each round that went well. */
  readonly onAnswer: () => void;
}

/**
 * Paces the lanes of a queue. Every worker process has one; the one that holds the lease grants the
 * heads of the lanes on a timer of its own process. It never blocks on Redis, whose timed wake-ups
 * are up to 100 ms late on an idle server.
 */
export class Pacer {
  readonly #options: PacerOptions;
  #closing = false;
  #close: () => void = () => undefined;
  readonly #closed = new Promise<void>((resolve) => (this.#close = resolve));
  #stopped: Promise<void> | undefined;
  #wake: () => void = () => undefined;
  /** A wake-up came while a round was under way. */
  #woken = false;
  #mostInFlight = 1;
  #leads = false;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#mostInFlight = options.mostInFlight(options.concurrency);
  }

  /** Jobs of one lane that may be on their way or run at once, over all processes. */
  get mostInFlight(): number {
    return this.#mostInFlight;
  }

  /** This process paces. */
  get leads(): boolean {
    return this.#leads;
  }

  /** Begins; resolves when it listens and has looked at the lanes once. Redis need not be there yet. */
  async start(connected: Promise<void>): Promise<void> {
    const { channels, names } = this.#options;
    const listens = channels.listen(names.wake, (message) => {
      if (this.#leads || message === LEAD) this.#wakeUp();
    });
    await new Promise<void>((looked) => {
      this.#stopped = Promise.race([connected, this.#closed]).then(() => this.#loop(looked));
    });
    await listens;
  }

  /** Grants nothing more, and gives the lease to whoever wants it. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#close();
    this.#wakeUp();
    await this.#stopped;
    this.#leads = false;
    const { pacing, id, concurrency } = this.#options;
    await pacing.tick(id, 0, 0, concurrency).catch(() => undefined);
  }

  #wakeUp(): void {
    this.#woken = true;
    this.#wake();
  }

  async #loop(looked: () => void): Promise<void> {
    while (!this.#closing) {
      this.#woken = false;
      let sleepMs: number;
      try {
        sleepMs = await this.#round();
        this.#options.onAnswer();
      } catch (error) {
        this.#options.onError(error);
        this.#leads = false;
        sleepMs = RETRY_MS;
      }
      looked();
      if (sleepMs > 0 && !this.#woken && !this.#closing) await this.#sleep(sleepMs);
    }
  }

  /** One look at everything that is due; returns how long nothing will be. */
  async #round(): Promise<number> {
    const { pacing, id, concurrency, mostInFlight, promoteOnce, takeOver, onError } = this.#options;
    const tick = await pacing.tick(id, LEASE_MS, MOST_LANES, concurrency, MOST_LATE);
    this.#mostInFlight = mostInFlight(tick.concurrency);
    this.#leads = tick.leads;
    if (!tick.leads) return LONGEST_SLEEP_MS;
    if (tick.leadsNow) takeOver().catch(onError);
    tick.late.forEach(promoteOnce);
    const horizonUs = tick.nowUs + LOOK_AHEAD_US;
    const looks = await Promise.all(
      tick.due.map(async (due) =>
        due.atUs > horizonUs ? due.atUs - tick.nowUs : this.#grant(due),
      ),
    );
    // Of more lanes than are told, the next one is due no sooner than the last that was.
    const { atUs } = tick.due[MOST_LANES - 1] ?? { atUs: Infinity };
    const longestUs = tick.late.length < MOST_LATE ? LONGEST_SLEEP_MS * US_PER_MS : LATE_AGAIN_US;
    const soonestUs = Math.min(longestUs, atUs - tick.nowUs, ...looks);
    return Math.max(0, Math.ceil((soonestUs - LOOK_AHEAD_US) / US_PER_MS));
  }

  /** Starts what may start of one lane; returns in how many µs it wants to be looked at again. */
  async #grant(due: Due): Promise<number> {
    const { lanes, pacing, promote, onError } = this.#options;
    let lane: Lane;
    try {
      lane = lanes.fromRecord(due.lane, due.record);
    } catch (error) {
      onError(error);
      await pacing.putOff(due.lane, due.atUs + STRANGE_LANE_US);
      return STRANGE_LANE_US;
    }
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
