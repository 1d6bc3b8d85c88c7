// A store that always answers in time: a deadline, a breaker and a failure policy. Knows no Redis.
import type { DecisionSource } from '../../core/decision';
import {
  RateLimitError,
  StoreConfigurationError,
  StoreTimeoutError,
  StoreUnavailableError,
} from '../../core/errors';
import { parseLimit } from '../../core/limit';
import { MemoryStore, type MemoryStoreOptions } from '../memory/memory-store';
import type { Awaitable, BucketCharge, Outcome, Peeked, RateLimitStore } from '../rate-limit-store';
import type {
  Answer,
  AnsweringStore,
  ResilientCharge,
  UnusedResilientGrant,
} from '../resilient-port';
import { Breaker } from './breaker';
import { Deadlines } from './deadlines';
import { LocalBuckets } from './local-buckets';

/** How often an outage is probed. */
const PROBE_EVERY_MS = 250;
/** Of the probe's own bucket, which is gone a moment later. */
const PROBE_LIMIT = parseLimit({ rate: 1000, capacity: 1000 }, 'probe');

/** Options of {@link ResilientStore}. */
export interface ResilientStoreOptions extends MemoryStoreOptions {
  /** The longest that one call waits for the shared store, in ms. */
  readonly timeoutMs: number;
  /** Told once when an outage begins, with its cause, and once when it ends, without. */
  readonly onChange?: (cause: Error | undefined) => void;
}

/**
 * Wraps a store. A store of this process answers as it is. A shared one is given `timeoutMs` for a
 * call; when it fails, each charge is answered by its own failure mode, and after a few failures in
 * a row the store is no longer asked until a probe, made beside the calls, gets an answer.
 *
 * Configuration errors are thrown, whatever the failure mode: they are no outage.
 */
export class ResilientStore implements AnsweringStore {
  readonly #inner: RateLimitStore;
  readonly #options: ResilientStoreOptions;
  readonly #breaker = new Breaker();
  readonly #deadlines: Deadlines;
  readonly #local: LocalBuckets;
  #probe: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(inner: RateLimitStore, options: ResilientStoreOptions) {
    this.#inner = inner;
    this.#options = options;
    this.#deadlines = new Deadlines(options.timeoutMs);
    this.#local = new LocalBuckets(new MemoryStore(options));
  }

  get source(): RateLimitStore['source'] {
    return this.#inner.source;
  }

  get takesBack(): boolean {
    return this.#inner.giveBack !== undefined;
  }

  take(charges: readonly ResilientCharge[]): Awaitable<Answer> {
    if (this.#inner.source === 'memory') return answered(this.#inner.take(charges), 'memory');
    return this.#ask(
      charges,
      () => this.#takeShared(charges),
      () => this.#local.take(charges),
    );
  }

  peek(charges: readonly ResilientCharge[]): Awaitable<Answer<Peeked>> {
    if (this.#inner.source === 'memory') return answered(this.#inner.peek(charges), 'memory');
    return this.#ask(
      charges,
      () => this.#inTime(async () => this.#inner.peek(charges)),
      () => this.#local.peek(charges),
    );
  }

  giveBack(grants: readonly UnusedResilientGrant[], source: DecisionSource): Awaitable<void> {
    if (source === 'local') return this.#local.giveBack(grants);
    if (this.#inner.source === 'memory') return this.#inner.giveBack?.(grants);
    return this.#inTime(async () => this.#inner.giveBack?.(grants)).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailableError)) throw error;
    });
  }

  async reset(buckets: readonly string[]): Promise<void> {
    if (this.#inner.source === 'shared') await this.#inTime(async () => this.#inner.reset(buckets));
    else await this.#inner.reset(buckets);
    this.#local.reset(buckets);
  }

  /** Ends the inner store. Calls that still wait for it are answered by their failure modes. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#probe);
    try {
      await this.#inner.close?.();
    } finally {
      this.#deadlines.close();
    }
  }

  async #ask<T extends Outcome>(
    charges: readonly ResilientCharge[],
    shared: () => Promise<readonly T[]>,
    local: () => T[],
  ): Promise<Answer<T>> {
    let cause: unknown;
    if (!this.#breaker.isOpen) {
      try {
        return { outcomes: await shared(), source: 'shared', degraded: false };
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        cause = error;
        this.#failed(charges, error);
      }
    }
    for (const { failureMode, place } of charges) {
      if (failureMode !== 'closed') continue;
      throw new StoreUnavailableError(
        `the rate limit store is out and ${place} is closed without it`,
        { cause },
      );
    }
    const tooMuch = this.#local.tooMuch(charges);
    if (tooMuch !== undefined) {
      throw new StoreUnavailableError(
        `the rate limit store is out and the local share of ${tooMuch.place} is smaller than the cost of this call`,
        { cause },
      );
    }
    return { outcomes: local(), source: 'local', degraded: true };
  }

  /** One call of the shared store, bounded. Anything it throws that is no error of ours is an outage. */
  async #inTime<T>(call: () => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options;
    return this.#deadlines.bound(
      call().catch((error: unknown) => {
        if (error instanceof RateLimitError) throw error;
        throw new StoreUnavailableError(`the rate limit store failed: ${String(error)}`, {
          cause: error,
        });
      }),
      () => new StoreTimeoutError(`the rate limit store did not answer within ${timeoutMs} ms`),
    );
  }

  /** Only a charge that was made or refused in time shows that the store works: a replica answers reads. */
  async #takeShared(charges: readonly ResilientCharge[]): Promise<readonly Outcome[]> {
    const outcomes = await this.#inTime(async () => {
      const taken = await this.#inner.take(charges);
      this.#local.follow(charges, taken);
      return taken;
    });
    this.#succeeded();
    return outcomes;
  }

  #succeeded(): void {
    if (this.#breaker.succeeded()) this.#options.onChange?.(undefined);
  }

  #failed(charges: readonly ResilientCharge[], cause: Error): void {
    if (!this.#breaker.failed()) return;
    this.#options.onChange?.(cause);
    this.#probeLater({
      bucket: `${charges[0].bucket}:probe`,
      place: charges[0].place,
      limit: PROBE_LIMIT,
      price: PROBE_LIMIT.q,
      maxWaitUs: 0,
    });
  }

  /**
   * Looks whether the store is back, while no call waits for it. By a charge, since a store that can
   * only be read (a replica, a full memory) is still out; to a bucket of its own, which lives for
   * milliseconds.
   */
  #probeLater(charge: BucketCharge): void {
    if (this.#closed) return;
    this.#probe = setTimeout(() => {
      this.#inTime(async () => this.#inner.take([charge])).then(
        () => this.#succeeded(),
        (error: unknown) => {
          // A store that refuses us is there: the next call is to hear it loudly.
          if (error instanceof StoreConfigurationError) this.#succeeded();
          else this.#probeLater(charge);
        },
      );
    }, PROBE_EVERY_MS).unref();
  }
}

function answered<T extends Outcome>(
  outcomes: Awaitable<readonly T[]>,
  source: DecisionSource,
): Awaitable<Answer<T>> {
  return outcomes instanceof Promise
    ? outcomes.then((settled) => ({ outcomes: settled, source, degraded: false }))
    : { outcomes, source, degraded: false };
}
