// The port as script calls. The arithmetic of the answer is the core's; the scripts are its twins.
import type { Level } from '../../core/algorithms/algorithm';
import { systemClock } from '../../core/clock';
import { StoreUnavailableError } from '../../core/errors';
import { US_PER_MS, usFromMs } from '../../core/duration';
import { peekOne, takeAll } from '../bucket';
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
import * as scripts from './lua.generated';
import { storeError } from './redis-errors';
import type { RedisLike } from '../redis-like';
import { RedisConfigurations } from './redis-configurations';
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
  /** At first, the server's wall clock is taken to agree with ours. */
  readonly #serverClock = new ServerClock(systemClock.nowMs() - systemClock.monotonicMs());

  static {
    setTime = (store, nowMs) => (store.#nowMs = nowMs);
  }

  constructor(client: RedisLike, options: RedisStoreOptions = {}) {
    this.#client = client;
    this.#options = options;
    const given = () => this.#givenUs();
    this.leases = new RedisLeases(client, given);
    this.configurations = new RedisConfigurations(client, given);
  }

  async take(charges: readonly BucketCharge[]): Promise<Outcome[]> {
    const keys = keysOf(charges);
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
    const { levels, charges: inForce } = taken(reply, charges);
    return underTheirLimits(
      charges,
      inForce,
      takeAll(inForce, levels, 0, Number(reply[0])).outcomes,
    );
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

  async close(): Promise<void> {
    await this.#options.close?.();
  }

  async #charged(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown[]> {
    const sentMs = systemClock.monotonicMs();
    const reply = (await TAKE_SCRIPT.run(this.#client, keys, args)) as unknown[];
    this.#serverClock.read(
      Math.floor(Number(reply[0]) / US_PER_MS),
      sentMs,
      systemClock.monotonicMs(),
    );
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

/** The buckets, and what may be configured for each: a bucket itself is never read as a configuration. */
function keysOf(charges: readonly Pick<BucketCharge, 'bucket' | 'configuration'>[]): string[] {
  const names = charges.map(({ bucket }) => bucket);
  return [...names, ...charges.map(({ bucket, configuration = bucket }) => configuration)];
}

/**
 * The levels in a reply of the take script, in a time whose zero is the server's now, and the charges
 * as they were decided. Replies are integers, but a client may be set to hand them over as text.
 */
function taken(
  reply: readonly unknown[],
  asked: readonly BucketCharge[],
): { levels: Level[]; charges: readonly BucketCharge[] } {
  const levels: Level[] = asked.map((_, i) => ({ credits: Number(reply[1 + i]), atUs: 0 }));
  let charges = asked;
  for (let at = 1 + asked.length; at < reply.length; at += 2) {
    const which = Number(reply[at]);
    const i = Math.abs(which) - 1;
    if (which > asked.length) {
      const of = which - asked.length - 1;
      levels[of] = { ...levels[of], previous: Number(reply[at + 1]) };
    } else if (which > 0) {
      levels[i] = { ...levels[i], atUs: Number(reply[at + 1]) };
    } else {
      const { limit, blockedUs } = inForce(String(reply[at + 1]), Number(reply[0]));
      levels[i] = { ...levels[i], blockedUs };
      charges = charges.with(i, underLimit(charges[i], limit));
    }
  }
  return { levels, charges };
}
