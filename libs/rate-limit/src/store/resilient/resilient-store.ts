// A store that always answers in time: a deadline, a breaker and a failure policy. Knows no Redis.
import type { DecisionSource } from '../../core/decision';
import { StoreUnavailableError } from '../../core/errors';
import { parseLimit } from '../../core/limit';
import type { ConfigurationStore } from '../configuration-store';
import { MemoryStore, type MemoryStoreOptions } from '../memory/memory-store';
import type {
  Adjustment,
  Awaitable,
  BucketCharge,
  Outcome,
  Peeked,
  RateLimitStore,
} from '../rate-limit-store';
import type {
  Answer,
  AnsweringStore,
  ResilientCharge,
  UnusedResilientGrant,
} from '../resilient-port';
import { LocalBuckets } from './local-buckets';
import { ResilientConfigurations } from './resilient-configurations';
import { ResilientLeases } from './resilient-leases';
import { type Probe, SharedCalls, type SharedCallsOptions } from './shared-calls';

/** Of the probe's own bucket, which is gone a moment later. */
const PROBE_LIMIT = parseLimit({ rate: 1000, capacity: 1000 }, 'probe');

/** Options of {@link ResilientStore}. */
export interface ResilientStoreOptions
  extends MemoryStoreOptions, Omit<SharedCallsOptions, 'refusal'> {}

/**
 * Wraps a store. A store of this process answers as it is. A shared one is given `timeoutMs` for a
 * call; when it fails, each charge is answered by its own failure mode, and after a few failures in
 * a row the store is no longer asked until a probe, made beside the calls, gets an answer.
 *
 * Configuration errors are thrown, whatever the failure mode: they are no outage.
 */
export class ResilientStore implements AnsweringStore {
  readonly #inner: RateLimitStore;
  readonly #calls: SharedCalls;
  readonly #local: LocalBuckets;
  /** `undefined` for a store of somebody's own that has none. */
  readonly leases: ResilientLeases | undefined;
  readonly configurations: ConfigurationStore | undefined;
  readonly adjust: AnsweringStore['adjust'];

  constructor(inner: RateLimitStore, options: ResilientStoreOptions) {
    this.#inner = inner;
    this.#calls = new SharedCalls({ ...options, refusal: () => inner.refusal?.() });
    this.#local = new LocalBuckets(new MemoryStore(options));
    const { configurations, source } = inner;
    this.adjust = inner.adjust && ((adjustments) => this.#adjust(adjustments));
    this.configurations =
      configurations && source === 'shared'
        ? new ResilientConfigurations(configurations, this.#calls)
        : configurations;
    this.leases =
      inner.leases && new ResilientLeases(inner.leases, inner.source, this.#calls, options.clock);
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
      () => this.#calls.read(async () => this.#inner.peek(charges), this.#probe(charges)),
      () => this.#local.peek(charges),
    );
  }

  giveBack(grants: readonly UnusedResilientGrant[], source: DecisionSource): Awaitable<void> {
    if (source === 'local') return this.#local.giveBack(grants);
    if (this.#inner.source === 'memory') return this.#inner.giveBack?.(grants);
    return this.#calls
      .inTime(async () => this.#inner.giveBack?.(grants))
      .catch((error: unknown) => {
        if (!(error instanceof StoreUnavailableError)) throw error;
      });
  }

  #adjust(adjustments: readonly Adjustment[]): Awaitable<void> {
    if (this.#inner.source === 'memory') return this.#inner.adjust?.(adjustments);
    return this.#calls.inTime(async () => this.#inner.adjust?.(adjustments));
  }

  async reset(buckets: readonly string[]): Promise<void> {
    if (this.#inner.source === 'shared')
      await this.#calls.inTime(async () => this.#inner.reset(buckets));
    else await this.#inner.reset(buckets);
    this.#local.reset(buckets);
  }

  /** Ends the inner store. Calls that still wait for it are answered by their failure modes. */
  async close(): Promise<void> {
    this.#calls.stopProbing();
    try {
      await this.#inner.close?.();
    } finally {
      this.#local.close();
      this.#calls.close();
    }
  }

  async #ask<T extends Outcome>(
    charges: readonly ResilientCharge[],
    shared: () => Promise<readonly T[]>,
    local: () => T[],
  ): Promise<Answer<T>> {
    let cause: unknown;
    if (!this.#calls.isOut) {
      try {
        return { outcomes: await shared(), source: 'shared', degraded: false };
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        cause = error;
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

  #takeShared(charges: readonly ResilientCharge[]): Promise<readonly Outcome[]> {
    return this.#calls.write(
      async () => {
        const taken = await this.#inner.take(charges);
        this.#local.follow(charges, taken);
        return taken;
      },
      this.#probe(charges),
      (taken) => taken.every(({ granted }) => granted),
    );
  }

  /** Charges to buckets of their own, which live for milliseconds: one where each of these lives. */
  #probe(charges: readonly ResilientCharge[]): Probe {
    const probes = charges.map(({ bucket, place }): BucketCharge => ({
      bucket: `${bucket}:probe`,
      place,
      limit: PROBE_LIMIT,
      price: PROBE_LIMIT.q,
      maxWaitUs: 0,
    }));
    return async () => this.#inner.take(probes);
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
