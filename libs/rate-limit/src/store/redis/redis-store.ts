// The port as script calls. The arithmetic of the answer is the core's; the scripts are its twins.
import { systemClock } from '../../core/clock';
import { usFromMs } from '../../core/duration';
import { peekOne } from '../bucket';
import { underLimit, underTheirLimits } from '../in-force';
import type {
  Adjustment,
  BucketCharge,
  Outcome,
  Peeked,
  RateLimitStore,
  UnusedGrant,
} from '../rate-limit-store';
import { inForce } from './configuration-text';
import { evictionPolicy } from './eviction-policy';
import * as scripts from './lua.generated';
import { storeError } from './redis-errors';
import type { RedisLike } from '../redis-like';
import { RedisConfigurations } from './redis-configurations';
import { RedisLeases } from './redis-leases';
import { RedisScript } from './redis-script';
import { ServerClock } from './server-clock';
import { keysOf } from './take-batch';
import { TakeCalls } from './take-calls';

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
}

const PEEK_SCRIPT = new RedisScript(scripts.peek.lua);
const ADJUST_SCRIPT = new RedisScript(scripts.adjust.lua);
const GIVE_BACK_SCRIPT = new RedisScript(scripts.giveBack.lua);

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

/** Buckets in Redis, one truth for every process. One round trip a call; the server's clock decides. */
export class RedisStore implements RateLimitStore {
  readonly source = 'shared';
  readonly leases: RedisLeases;
  readonly configurations: RedisConfigurations;
  readonly #client: RedisLike;
  readonly #options: RedisStoreOptions;
  #nowMs: (() => number) | undefined;
  readonly #calls: TakeCalls;

  static {
    setTime = (store, nowMs) => (store.#nowMs = nowMs);
  }

  constructor(client: RedisLike, options: RedisStoreOptions = {}) {
    this.#client = client;
    this.#options = options;
    const given = () => this.#givenUs();
    this.#calls = new TakeCalls({
      client,
      giveUpAfterMs: options.giveUpAfterMs,
      givenUs: given,
      // At first, the server's wall clock is taken to agree with ours.
      serverClock: new ServerClock(systemClock.nowMs() - systemClock.monotonicMs()),
    });
    this.leases = new RedisLeases(client, given);
    this.configurations = new RedisConfigurations(client, given);
  }

  take(charges: readonly BucketCharge[]): Promise<Outcome[]> {
    return this.#calls.take(charges);
  }

  async peek(charges: readonly BucketCharge[]): Promise<Peeked[]> {
    const keys = keysOf(charges);
    const args: (string | number)[] = [this.#givenUs()];
    for (const { limit } of charges) {
      args.push(limit.n, limit.q, limit.capacity, limit.fingerprint);
    }
    const [now, ...reply] = (await PEEK_SCRIPT.run(this.#client, keys, args)) as unknown[];
    const asked = charges.map((charge, i) => {
      const [credits, atUs, previous, text] = reply.slice(4 * i, 4 * i + 4);
      const { limit, blockedUs } = inForce(String(text), Number(now));
      const level = {
        credits: Number(credits),
        atUs: Number(atUs),
        previous: Number(previous),
        blockedUs,
      };
      return { charge: underLimit(charge, limit), level };
    });
    return underTheirLimits(
      charges,
      asked.map(({ charge }) => charge),
      asked.map(({ charge, level }) => peekOne(charge, level, 0)),
    );
  }

  async giveBack(grants: readonly UnusedGrant[]): Promise<void> {
    const keys = keysOf(grants);
    const args: (string | number)[] = [this.#givenUs()];
    for (const { limit, price, startsAtUs } of grants) {
      args.push(limit.n, limit.q, limit.capacity, limit.fingerprint, price, startsAtUs);
    }
    await GIVE_BACK_SCRIPT.run(this.#client, keys, args);
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<void> {
    const args: (string | number)[] = [this.#givenUs()];
    for (const { limit, credits } of adjustments) {
      args.push(limit.n, limit.q, limit.capacity, limit.fingerprint, credits);
    }
    await ADJUST_SCRIPT.run(this.#client, keysOf(adjustments), args);
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

  async close(): Promise<void> {
    await this.#options.close?.();
  }

  /** The time for the scripts; '' = the server's. */
  #givenUs(): number | '' {
    return this.#nowMs === undefined ? '' : usFromMs(this.#nowMs());
  }
}
