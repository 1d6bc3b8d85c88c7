// The port over Redis: one script call a decision, and on a cluster one for each key of it.
import { systemClock } from '../../core/clock';
import { usFromMs } from '../../core/duration';
import { type StoreConfigurationError, StoreTimeoutError } from '../../core/errors';
import { lookOne, peekOne } from '../bucket';
import { Deadlines } from '../deadlines';
import { underTheirLimits } from '../in-force';
import type {
  Adjustment,
  BucketCharge,
  Outcome,
  Peeked,
  RateLimitStore,
  UnusedGrant,
} from '../rate-limit-store';
import { evictionPolicy } from './eviction-policy';
import type { RedisLike } from '../redis-like';
import { RedisBuckets, type Seen } from './redis-buckets';
import { RedisConfigurations } from './redis-configurations';
import { storeError } from './redis-errors';
import { RedisLeases } from './redis-leases';
import { ServerClock } from './server-clock';
import { allDone, bySlot, inOrder, mostSpecificFirst, type SlotGroup } from './slot-groups';
import { TakeCalls } from './take-calls';
import { TakeInTurn } from './take-in-turn';

/** How a {@link RedisStore} is set up. */
export interface RedisStoreOptions {
  /**
   * Ends the store: closes the client if the store's owner opened it. Left out for a client that
   * was handed in.
   */
  readonly close?: () => Promise<void>;
  /**
   * Milliseconds after which callers stop waiting for an answer. A charge that reaches the server
   * later than that is not made: a server that was paused does not charge what was answered
   * otherwise meanwhile.
   * @default never
   */
  readonly giveUpAfterMs?: number;
  /** Why the client cannot connect, if it is refused: see `RateLimitStore.refusal`. */
  readonly refusal?: () => StoreConfigurationError | undefined;
}

let setTime: (store: RedisStore, nowMs: () => number) => void;

/**
 * A store whose scripts use the time of a test instead of the server's. Not for the public surface: a process that
 * brings its own clock can empty or freeze the buckets of all others.
 */
export function redisStoreAt(
  nowMs: () => number,
  client: RedisLike,
  options?: RedisStoreOptions,
): RedisStore {
  const store = new RedisStore(client, options);
  setTime(store, nowMs);
  return store;
}

/**
 * Buckets in Redis, one truth for every process; the server's clock decides. One round trip a call.
 *
 * On a cluster the buckets of a call may live in several slots, and no server can charge them together. `take` then
 * charges slot after slot, the most specific first, and takes back what it took when one refuses: a round trip a slot,
 * and up to two more for a refusal. Meanwhile others may find less than there is, never more.
 */
export class RedisStore implements RateLimitStore {
  readonly source = 'shared';
  readonly leases: RedisLeases;
  readonly configurations: RedisConfigurations;
  readonly #client: RedisLike;
  readonly #options: RedisStoreOptions;
  readonly #calls: TakeCalls;
  readonly #buckets: RedisBuckets;
  /** Of calls over several slots: what they took is taken back when their time is up. */
  readonly #deadlines: Deadlines | undefined;
  #nowMs: (() => number) | undefined;

  static {
    setTime = (store, nowMs) => (store.#nowMs = nowMs);
  }

  constructor(client: RedisLike, options: RedisStoreOptions = {}) {
    this.#client = client;
    this.#options = options;
    const { giveUpAfterMs } = options;
    // The time for the scripts; '' = the server's.
    const givenUs = () => (this.#nowMs === undefined ? '' : usFromMs(this.#nowMs()));
    // At first, the server's wall clock is taken to agree with ours.
    const serverClock = new ServerClock(systemClock.nowMs() - systemClock.monotonicMs());
    this.#calls = new TakeCalls({ client, giveUpAfterMs, givenUs, serverClock });
    this.#buckets = new RedisBuckets(client, givenUs);
    this.#deadlines = giveUpAfterMs === undefined ? undefined : new Deadlines(giveUpAfterMs);
    this.leases = new RedisLeases(client, givenUs);
    this.configurations = new RedisConfigurations(client, givenUs);
  }

  take(charges: readonly BucketCharge[]): Promise<Outcome[]> {
    if (charges.length === 1 || this.#client.isCluster !== true) return this.#calls.take(charges);
    const groups = this.#groups(charges);
    return groups.length === 1
      ? this.#calls.take(charges)
      : this.#takeInTurn(mostSpecificFirst(groups));
  }

  async peek(charges: readonly BucketCharge[]): Promise<Peeked[]> {
    const groups = this.#groups(charges);
    const peeked = groups.map(({ members }) => this.#look(members, peekOne));
    return inOrder(groups, await allDone(peeked));
  }

  async giveBack(grants: readonly UnusedGrant[]): Promise<void> {
    await allDone(this.#groups(grants).map(({ members }) => this.#buckets.giveBack(members)));
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<void> {
    await allDone(this.#groups(adjustments).map(({ members }) => this.#buckets.adjust(members)));
  }

  async reset(buckets: readonly string[]): Promise<void> {
    try {
      // One command a bucket: buckets of different keys may live in different slots.
      await Promise.all(buckets.map((bucket) => this.#client.del(bucket)));
    } catch (error) {
      throw storeError(error);
    }
  }

  evictionPolicy(): Promise<string | undefined> {
    return evictionPolicy(this.#client);
  }

  refusal(): StoreConfigurationError | undefined {
    return this.#options.refusal?.();
  }

  async close(): Promise<void> {
    this.#deadlines?.close();
    await this.#options.close?.();
  }

  #takeInTurn(groups: readonly SlotGroup<BucketCharge>[]): Promise<Outcome[]> {
    const askedMs = systemClock.monotonicMs();
    const turn = new TakeInTurn(groups, {
      take: (charges) => this.#calls.takePart(charges, askedMs),
      look: (charges) => this.#look(charges, lookOne),
      takeBack: (grants) => this.#buckets.takeBack(grants),
    });
    if (this.#deadlines === undefined) return turn.run();
    return this.#deadlines.bound(turn.run(), () => {
      turn.giveUp();
      return new StoreTimeoutError('Redis did not answer for all keys of a call in time');
    });
  }

  async #look<T extends Outcome>(
    charges: readonly BucketCharge[],
    said: (charge: BucketCharge, level: Seen['level'], nowUs: number) => T,
  ): Promise<T[]> {
    const seen = await this.#buckets.look(charges);
    return underTheirLimits(
      charges,
      seen.map(({ charge }) => charge),
      seen.map(({ charge, level }) => said(charge, level, 0)),
    );
  }

  /** Only a cluster has several slots: elsewhere a call is one, whatever its keys. */
  #groups<T extends { readonly bucket: string }>(call: readonly T[]): SlotGroup<T>[] {
    if (this.#client.isCluster === true && call.length > 1) return bySlot(call);
    return [{ members: call, at: call.map((_, i) => i) }];
  }
}
