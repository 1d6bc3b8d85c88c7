// The storage of @nestjs/throttler, as token buckets in Redis.
import {
  Logger,
  type OnApplicationShutdown,
  type OnModuleInit,
  ServiceUnavailableException,
} from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { bucketNamer, type BucketPlace } from '../core/bucket-key';
import { US_PER_MS } from '../core/duration';
import { InvalidLimitError, StoreUnavailableError } from '../core/errors';
import { shown } from '../core/limit';
import { checkBehaviour, failureModeOf, priceOf, shareOf } from '../limiter/policy';
import type { RateLimitStore } from '../store/rate-limit-store';
import { checkRedisAddress } from '../store/redis-address';
import { isRedisLike, type RedisConnectionOptions, type RedisLike } from '../store/redis-like';
import { openRedis, type OwnRedis } from '../store/redis/redis-client';
import { RedisStore } from '../store/redis/redis-store';
import type { FailureMode, ResilientCharge } from '../store/resilient-port';
import { ResilientStore } from '../store/resilient/resilient-store';
import { throttlerNumbers } from './throttler-numbers';

/** Options of {@link RedisTokenBucketStorage}. */
export interface TokenBucketStorageOptions {
  /** In front of all keys; without braces. @default 'rl' */
  keyPrefix?: string;
  /** What answers when Redis is out; `closed`: 503. @default 'local' */
  onStoreFailure?: FailureMode;
  /** In `local`: the share of each limit that this process may use alone; more than 0, at most 1. @default 1 */
  localShare?: number;
  /** The longest wait for Redis, in ms. @default 250 */
  storeTimeoutMs?: number;
  /** The most buckets that are kept in this process while Redis is out. @default 1_000_000 */
  maxBuckets?: number;
}

/** What `increment` resolves to: the declaration of @nestjs/throttler differs between its versions in form alone. */
type Hits = Awaited<ReturnType<ThrottlerStorage['increment']>>;

const DEFAULT_TIMEOUT_MS = 250;
/** How long the start waits for Redis. */
const START_PATIENCE_MS = 2000;
const US_PER_SECOND = 1000 * US_PER_MS;
const OPTIONS = ['keyPrefix', 'onStoreFailure', 'localShare', 'storeTimeoutMs', 'maxBuckets'];

/**
 * Keeps the hits of `ThrottlerModule` in Redis, one truth for all instances:
 *
 *     ThrottlerModule.forRoot({ throttlers: […], storage: new RedisTokenBucketStorage('redis://…') })
 *
 * Each key is a token bucket of `limit` tokens that refills in `ttl`; a check is one round trip, and concurrent ones
 * admit exactly what is there. `blockDuration` as theirs: a call that finds the bucket empty blocks the key for so long,
 * which takes a second round trip; then the bucket is full. 0: no block; who waits for `Retry-After` passes.
 *
 * While Redis is out the failure policy answers, within the deadline; blocks are not set meanwhile.
 */
export class RedisTokenBucketStorage
  implements ThrottlerStorage, OnModuleInit, OnApplicationShutdown
{
  readonly #store: ResilientStore;
  readonly #place: BucketPlace;
  readonly #failureMode: FailureMode;
  readonly #localShare: number;
  /** The connection, if it was opened here. */
  readonly #own: OwnRedis | undefined;

  /**
   * @param redis a URL, options of ioredis, or a client, which stays its owner's to close; or a store of your own
   * @throws InvalidLimitError for options that make no sense; StoreConfigurationError when ioredis is missing
   */
  constructor(
    redis: string | RedisConnectionOptions | RedisLike | RateLimitStore,
    options: TokenBucketStorageOptions = {},
  ) {
    checkOptions(redis, options);
    const { keyPrefix = 'rl', localShare = 1, maxBuckets } = options;
    const { storeTimeoutMs: timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#place = bucketNamer(keyPrefix).place('throttler', 'app');
    this.#failureMode = failureModeOf(options, {}).failureMode;
    this.#localShare = localShare;
    if (!isStore(redis) && !isRedisLike(redis)) this.#own = openRedis(redis);
    const store = isStore(redis)
      ? redis
      : new RedisStore(this.#own ?? (redis as RedisLike), { giveUpAfterMs: timeoutMs });
    this.#store = new ResilientStore(store, { timeoutMs, maxBuckets, onChange });
  }

  /**
   * Counts a call.
   *
   * @param key from `generateKey`; any string. Throttlers of different names never share a bucket
   * @param ttl ms in which an empty bucket fills; 0: nothing is limited
   * @param limit calls; below 1: nothing passes
   * @param blockDuration ms; 0: a refused call blocks nobody
   * @returns hits so far (one more than `limit` on a refusal), and whole seconds, rounded up
   * @throws ServiceUnavailableException when Redis is out and the storage is `closed`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<Hits> {
    if (limit < 1) return nothingPasses(ttl, blockDuration);
    if (!(ttl > 0) || limit === Infinity) return everythingPasses(ttl);
    const charge = this.#charge(key, ttl, limit, throttlerName);
    const [outcome] = (await this.#taken(charge)).outcomes;
    if (outcome.granted) {
      const left = Math.floor(outcome.credits / priceOf(1, charge.limit));
      const timeToExpire = seconds(outcome.fullInUs);
      const totalHits = Math.floor(limit) - left;
      return { totalHits, timeToExpire, isBlocked: false, timeToBlockExpire: 0 };
    }
    const isNew = outcome.blocked !== true && blockDuration > 0;
    const blocked = isNew && (await this.#block(charge, blockDuration));
    const waitUs = blocked ? blockDuration * US_PER_MS : outcome.waitUs;
    return {
      totalHits: Math.floor(limit) + 1,
      timeToExpire: seconds(Math.max(outcome.fullInUs, waitUs)),
      isBlocked: true,
      timeToBlockExpire: seconds(waitUs),
    };
  }

  /** Waits a little for Redis; the failure policy answers until it is there. */
  async onModuleInit(): Promise<void> {
    const problem = await this.#own?.connected(START_PATIENCE_MS);
    if (problem !== undefined) logger.error(`Redis is not there at the start: ${problem.message}`);
  }

  /** Closes the connection, if it was opened here. Waiting calls are answered by the failure policy. */
  async onApplicationShutdown(): Promise<void> {
    await this.#store.close();
    await this.#own?.close();
  }

  #charge(key: string, ttl: number, limit: number, throttlerName: string): ResilientCharge {
    const numbers = throttlerNumbers(limit, ttl);
    const name = `${throttlerName.replace(/[%:]/g, encodeURIComponent)}:${key}`;
    return {
      bucket: this.#place.bucket(name),
      place: this.#place.name,
      configuration: this.#place.configuration(name),
      limit: numbers,
      price: priceOf(1, numbers),
      maxWaitUs: 0,
      failureMode: this.#failureMode,
      localLimit: shareOf(numbers, this.#localShare, 'throttler'),
    };
  }

  async #taken(charge: ResilientCharge) {
    try {
      return await this.#store.take([charge]);
    } catch (error) {
      if (!StoreUnavailableError.is(error)) throw error;
      throw new ServiceUnavailableException('Rate limiting is out of service', { cause: error });
    }
  }

  /** Nothing passes until the block ends, and then everything does: the bucket is full again. */
  async #block({ bucket, configuration }: ResilientCharge, ms: number): Promise<boolean> {
    const { configurations } = this.#store;
    if (configurations === undefined || configuration === undefined) return false;
    try {
      await Promise.all([
        configurations.block(configuration, Math.ceil(ms)),
        this.#store.reset([bucket]),
      ]);
      return true;
    } catch (error) {
      if (StoreUnavailableError.is(error)) return false;
      throw error;
    }
  }
}

const logger = new Logger('RedisTokenBucketStorage');

function onChange(cause: Error | undefined): void {
  if (cause === undefined) logger.log('Redis is back');
  else logger.error(`Redis is out: ${cause.message}`);
}

function checkOptions(redis: unknown, options: TokenBucketStorageOptions): void {
  const place = 'RedisTokenBucketStorage';
  const isObject = typeof redis === 'object' && redis !== null;
  if (!isObject || !(isStore(redis) || isRedisLike(redis)))
    checkRedisAddress(redis, `${place}: redis`);
  const unknown = Object.keys(options).find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) {
    throw new InvalidLimitError(
      `${place}: option ${shown(unknown)} is unknown; known options: ${OPTIONS.join(', ')}`,
    );
  }
  const { storeTimeoutMs } = options;
  if (storeTimeoutMs !== undefined && !(storeTimeoutMs > 0 && storeTimeoutMs <= 60_000)) {
    throw new InvalidLimitError(
      `${place}: storeTimeoutMs ${shown(storeTimeoutMs)} is not a number above 0 and at most 60000`,
    );
  }
  checkBehaviour(options, place);
}

function isStore(value: unknown): value is RateLimitStore {
  return typeof (value as Partial<RateLimitStore>).take === 'function';
}

function seconds(us: number): number {
  return Math.max(1, Math.ceil(us / US_PER_SECOND));
}

function nothingPasses(ttl: number, blockDuration: number): Hits {
  const timeToExpire = seconds(ttl * US_PER_MS);
  const timeToBlockExpire = seconds((blockDuration > 0 ? blockDuration : ttl) * US_PER_MS);
  return { totalHits: 1, timeToExpire, isBlocked: true, timeToBlockExpire };
}

function everythingPasses(ttl: number): Hits {
  const timeToExpire = ttl > 0 ? seconds(ttl * US_PER_MS) : 0;
  return { totalHits: 1, timeToExpire, isBlocked: false, timeToBlockExpire: 0 };
}
