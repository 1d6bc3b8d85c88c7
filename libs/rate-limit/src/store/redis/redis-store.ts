// The port as script calls. The arithmetic of the answer is the core's; the scripts are its twins.
import { systemClock } from '../../core/clock';
import { StoreUnavailableError } from '../../core/errors';
import { US_PER_MS, usFromMs } from '../../core/duration';
import { peekOne, takeAll, type Level } from '../bucket';
import type {
  BucketCharge,
  Outcome,
  Peeked,
  RateLimitStore,
  UnusedGrant,
} from '../rate-limit-store';
import * as scripts from './lua.generated';
import { storeError } from './redis-errors';
import type { RedisLike } from '../redis-like';
import { RedisLeases } from './redis-leases';
import { RedisScript } from './redis-script';
import { ServerClock } from './server-clock';

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

/**
 * The server gives up a little before the caller does: what it knows of our clock is right to within
 * a reply, and a charge that is made while the caller turns away would be a charge for nothing.
 */
const GIVE_UP_SHARE = 0.9;

const TAKE_SCRIPT = new RedisScript(scripts.take.lua);
const PEEK_SCRIPT = new RedisScript(scripts.peek.lua);
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
  #leases: RedisLeases;
  readonly #client: RedisLike;
  readonly #options: RedisStoreOptions;
  #nowMs: (() => number) | undefined;
  /** At first, the server's wall clock is taken to agree with ours. */
  readonly #serverClock = new ServerClock(systemClock.nowMs() - systemClock.monotonicMs());

  static {
    setTime = (store, nowMs) => {
      store.#nowMs = nowMs;
      store.#leases = new RedisLeases(store.#client, nowMs);
    };
  }

  constructor(client: RedisLike, options: RedisStoreOptions = {}) {
    this.#client = client;
    this.#options = options;
    this.#leases = new RedisLeases(client);
  }

  get leases(): RedisLeases {
    return this.#leases;
  }

  async take(charges: readonly BucketCharge[]): Promise<Outcome[]> {
    const keys = charges.map(({ bucket }) => bucket);
    const sentMs = systemClock.monotonicMs();
    const args: (string | number)[] = [this.#giveUpAt(sentMs), this.#givenUs()];
    for (const { limit, price, maxWaitUs } of charges) {
      args.push(limit.n, limit.q, limit.capacity, limit.fingerprint, price, maxWaitUs);
    }
    let reply = await this.#charged(keys, args);
    if (reply.length === 1) {
      // Nothing was charged: either we are too late, or our idea of the server's clock was wrong.
      // The reply has set it right, so asking once more tells.
      args[0] = this.#giveUpAt(sentMs);
      if (!this.#isLate(sentMs)) reply = await this.#charged(keys, args);
      if (reply.length === 1) {
        throw new StoreUnavailableError('Redis answered after the deadline; nothing was charged');
      }
    }
    return takeAll(charges, takeLevels(reply, charges.length), 0, reply[0]);
  }

  async peek(charges: readonly BucketCharge[]): Promise<Peeked[]> {
    const keys = charges.map(({ bucket }) => bucket);
    const args: (string | number)[] = [this.#givenUs()];
    for (const { limit } of charges) args.push(limit.n, limit.q, limit.capacity);
    const reply = numbers(await PEEK_SCRIPT.run(this.#client, keys, args));
    return charges.map((charge, i) =>
      peekOne(charge, { credits: reply[2 * i], atUs: reply[2 * i + 1] }, 0),
    );
  }

  async giveBack(grants: readonly UnusedGrant[]): Promise<void> {
    const keys = grants.map(({ bucket }) => bucket);
    const args: (string | number)[] = [this.#givenUs()];
    for (const { limit, price, startsAtUs } of grants) {
      args.push(limit.n, limit.q, limit.capacity, limit.fingerprint, price, startsAtUs);
    }
    await GIVE_BACK_SCRIPT.run(this.#client, keys, args);
  }

  async reset(buckets: readonly string[]): Promise<void> {
    try {
      // One command a bucket: buckets of different keys may live in different slots.
      await Promise.all(buckets.map((bucket) => this.#client.del(bucket)));
    } catch (error) {
      throw storeError(error);
    }
  }

  async close(): Promise<void> {
    await this.#options.close?.();
  }

  async #charged(keys: readonly string[], args: readonly (string | number)[]): Promise<number[]> {
    const sentMs = systemClock.monotonicMs();
    const reply = numbers(await TAKE_SCRIPT.run(this.#client, keys, args));
    this.#serverClock.read(Math.floor(reply[0] / US_PER_MS), sentMs, systemClock.monotonicMs());
    return reply;
  }

  #isLate(sentMs: number): boolean {
    const { giveUpAfterMs = Infinity } = this.#options;
    return systemClock.monotonicMs() - sentMs >= giveUpAfterMs;
  }

  /** Server time after which nobody waits for what was sent at `sentMs`. */
  #giveUpAt(sentMs: number): number | '' {
    const { giveUpAfterMs } = this.#options;
    if (giveUpAfterMs === undefined || this.#nowMs !== undefined) return '';
    return Math.ceil(this.#serverClock.at(sentMs + giveUpAfterMs * GIVE_UP_SHARE));
  }

  /** The time for the scripts; '' = the server's. */
  #givenUs(): number | '' {
    return this.#nowMs === undefined ? '' : usFromMs(this.#nowMs());
  }
}

/** Replies are integers, but a client may be set to hand them over as text. */
function numbers(reply: unknown): number[] {
  return (reply as unknown[]).map(Number);
}

/** The levels in a reply of the take script, in a time whose zero is the server's now. */
function takeLevels(reply: readonly number[], buckets: number): Level[] {
  const levels = reply.slice(1, 1 + buckets).map((credits) => ({ credits, atUs: 0 }));
  for (let at = 1 + buckets; at < reply.length; at += 2) levels[reply[at] - 1].atUs = reply[at + 1];
  return levels;
}
