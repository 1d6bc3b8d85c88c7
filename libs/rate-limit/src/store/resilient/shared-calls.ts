// How a store that may be out is asked: in time, and not at all while it is known to be out. Knows no buckets.
import { ownTimer } from '../../core/own-timer';
import {
  RateLimitError,
  StoreConfigurationError,
  StoreTimeoutError,
  StoreUnavailableError,
} from '../../core/errors';
import { Breaker } from './breaker';
import { Deadlines } from '../deadlines';

/** How often an outage is probed. */
const PROBE_EVERY_MS = 250;

/** Options of {@link SharedCalls}. */
export interface SharedCallsOptions {
  /** The longest that one call waits for the shared store, in ms. */
  readonly timeoutMs: number;
  /** Told once when an outage begins, with its cause, and once when it ends, without. */
  readonly onChange?: (cause: Error | undefined) => void;
  /** See `RateLimitStore.refusal`. */
  readonly refusal?: () => StoreConfigurationError | undefined;
  /** Told of each refusal that no caller hears of. */
  readonly onRefused?: (error: StoreConfigurationError) => void;
}

/** A call that writes to the store, and leaves nothing there. */
export type Probe = () => Promise<unknown>;

/** The calls of one store, whatever they are about: an outage that one meets is known to all. */
export class SharedCalls {
  readonly #options: SharedCallsOptions;
  readonly #breaker = new Breaker();
  readonly #deadlines: Deadlines;
  #probe: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: SharedCallsOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.timeoutMs);
  }

  /** The store is known to be out: no call but a probe is made. */
  get isOut(): boolean {
    return this.#breaker.isOpen;
  }

  /**
   * A call that writes. Only one that wrote, and had its answer in time, shows that the store works: a replica, or a
   * full memory, answers what writes nothing.
   *
   * @param probe what looks, after too many failures, whether the store is back
   * @param wrote whether a call with this result wrote: refusals do not
   * @throws StoreUnavailableError, StoreConfigurationError
   */
  async write<T>(call: () => Promise<T>, probe: Probe, wrote: (result: T) => boolean): Promise<T> {
    const result = await this.read(call, probe);
    if (wrote(result)) this.#succeeded();
    return result;
  }

  /** A call that writes nothing: it shows when the store is out, but not when it is back. */
  async read<T>(call: () => Promise<T>, probe: Probe): Promise<T> {
    try {
      return await this.inTime(call);
    } catch (error) {
      if (error instanceof StoreUnavailableError && this.#breaker.failed()) {
        this.#options.onChange?.(error);
        this.#probeLater(probe);
      }
      throw error;
    }
  }

  /** A call that nobody waits for: an outage is none of its caller's business, a refusal is told. Never fails. */
  async unheard(call: () => Promise<unknown>): Promise<void> {
    try {
      await this.inTime(call);
    } catch (error) {
      if (StoreConfigurationError.is(error)) this.#options.onRefused?.(error);
    }
  }

  /** One call, bounded. Anything it throws that is no error of ours is an outage. */
  inTime<T>(call: () => Promise<T>): Promise<T> {
    const { timeoutMs, refusal } = this.#options;
    const refused = refusal?.();
    if (refused !== undefined) return Promise.reject(refused);
    return this.#deadlines.bound(
      call().catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) throw refusal?.() ?? error;
        if (error instanceof RateLimitError) throw error;
        throw new StoreUnavailableError(`the rate limit store failed: ${String(error)}`, {
          cause: error,
        });
      }),
      () =>
        refusal?.() ??
        new StoreTimeoutError(`the rate limit store did not answer within ${timeoutMs} ms`),
    );
  }

  /** No more probes. */
  stopProbing(): void {
    this.#closed = true;
    clearTimeout(this.#probe);
  }

  /** Ends calls that are still waiting, as if their time were up. */
  close(): void {
    this.#deadlines.close();
  }

  #succeeded(): void {
    if (this.#breaker.succeeded()) this.#options.onChange?.(undefined);
  }

  /** Looks whether the store is back, while no call waits for it. */
  #probeLater(probe: Probe): void {
    if (this.#closed) return;
    this.#probe = ownTimer(() => {
      this.inTime(probe).then(
        () => this.#succeeded(),
        (error: unknown) => {
          // A store that refuses us is there: the next call is to hear it loudly.
          if (error instanceof StoreConfigurationError) this.#succeeded();
          else this.#probeLater(probe);
        },
      );
    }, PROBE_EVERY_MS);
  }
}
