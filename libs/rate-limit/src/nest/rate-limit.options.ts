// The words of the public options: the module's, and those of one limit. Types only.
import type { ExecutionContext } from '@nestjs/common';
import type { Limit } from '../core/limit';
import type { Caller } from '../http/caller';
import type { KeyResolver as AnyKeyResolver } from '../http/key-resolver';
import type { MaybePromise } from '../http/maybe-promise';
import type { HeaderStyle } from '../http/rate-limit-headers';
import type { ConcurrencyOptions } from '../limiter/concurrency-limit';
import type { PolicyBehaviour } from '../limiter/policy';
import type { RateLimitStore } from '../store/rate-limit-store';
import type { RedisConnectionOptions, RedisLike } from '../store/redis-like';
import type { ChargeOn } from './charge-on';

/** Says whose bucket a call belongs to. May answer by a promise. See `byIp`, `byHeader`, `firstOf` …. */
export type KeyResolver<Context = ExecutionContext> = AnyKeyResolver<Context>;

/** Computes something of a call. */
export type OfCall<T> = (caller: Caller, context: ExecutionContext) => MaybePromise<T>;

/** A refusal becomes a job of this queue. Made by `deferTo` of `nest-rate-limit/queue`. */
export interface DeferTo {
  readonly queue: string;
  /**
   * Puts the deferral around a handler, or around all of a class; `@RateLimit` calls it when it is
   * applied.
   * @internal
   */
  wrap(target: object, method?: string | symbol, descriptor?: PropertyDescriptor): void;
}

/** A concurrency limit on a handler, or on each handler of a class. */
export interface ConcurrencyLimitOptions extends ConcurrencyOptions {
  /** Whose slots. @default the module's `key` */
  key?: KeyResolver;
  /**
   * Who shares the slots: every call of the handler (`route`), of the class (`controller`), of the application
   * (`app`), or of everything that names the same text.
   * @default 'route'
   */
  scope?: 'route' | 'controller' | 'app' | (string & {});
  /** Calls that need no slot. */
  skip?: OfCall<boolean>;
}

/** One limit on a class, a method or the whole application: numbers, and what they apply to. */
export interface RateLimitOptions extends Partial<Limit>, PolicyBehaviour {
  /**
   * These numbers hold for callers of this tier (or these tiers) only. Variants of one limit share
   * its name, and so its bucket.
   */
  tier?: string | readonly string[];
  /** @default the module's `key` */
  key?: KeyResolver;
  /**
   * Who shares the bucket: every call of the handler (`route`), of the class (`controller`), of the
   * application (`app`), or of everything that names the same text.
   * @default 'route' for numbers that stand here; a named policy's own bucket; `app` for the tier table
   */
  scope?: 'route' | 'controller' | 'app' | (string & {});
  /**
   * Tokens that one call takes: positive and finite, counted in thousandths, rounded up. A function
   * may answer 0: this limit is then skipped for the call.
   * @default 1
   */
  cost?: number | OfCall<number>;
  /**
   * What a refusal does: `reject` answers 429; `wait` holds the call until its token is there, at most
   * `maxWaitMs`, and takes its place in line at once; `deferTo(queue)` answers 202 and makes it a job.
   * Of a handler's limits one may wait and one may defer; one that rejects goes before both.
   * @default 'reject'
   */
  onLimit?: 'reject' | 'wait' | DeferTo;
  /** For `onLimit: 'wait'`, required there: the longest wait, a whole number of ms up to 3_600_000. */
  maxWaitMs?: number;
  /**
   * Which calls are charged, by how they end. The tokens are taken before the handler, so that no crowd slips through,
   * and given back when the answer is complete: `failure` keeps them for a status from 400 on and for an aborted call,
   * `success` for the others, a function where it does not answer `false`. Guards' and pipes' answers count as well. Not
   * with `deferTo`.
   * @default 'always'
   */
  chargeOn?: ChargeOn;
  /** This limit is not charged for calls that it answers `true` to. */
  skip?: OfCall<boolean>;
}

/** The options of `RateLimitModule.forRoot`. All are checked at start-up. */
export interface RateLimitModuleOptions extends PolicyBehaviour {
  /**
   * A URL (`redis://…`), ioredis options, or a client of your own, which is never closed nor
   * reconfigured.
   * @default buckets in this process' memory
   */
  redis?: string | RedisConnectionOptions | RedisLike;
  /** A store of your own, which is never closed. */
  store?: RateLimitStore;
  /** The start of every key in the store; not empty, without braces. @default 'rl' */
  keyPrefix?: string;
  /**
   * A keyed hash instead of readable keys in the store. `true` hashes with a key derived from
   * `keyPrefix`: it hides callers from a glance, but who can guess a caller can test the guess.
   * With `{ secret }` (not empty, the same on all instances) only who knows it can.
   * @default false
   */
  hashKeys?: boolean | { secret: string };
  /**
   * Bound of the memory store and of the local fallback, 1 to 16_000_000; a bucket takes about 300 bytes. At the bound,
   * callers that are not kept yet share one bucket a policy and scope.
   * @default 1_000_000
   */
  maxBuckets?: number;
  /** @default true */
  isGlobal?: boolean;
  /** For guarded routes without a decorator: one bucket a caller over all of them. */
  limit?: Limit;
  /** Charged on every guarded route besides its own limits. A name is required. */
  always?: RateLimitOptions | readonly RateLimitOptions[];
  /** Limits by name, for `@RateLimit('search')` and `limiter.consume(key, 'search')`: one bucket a key. */
  policies?: Readonly<Record<string, RateLimitOptions>>;
  /** Rows of limits by name. */
  tiers?: Readonly<Record<string, Limit>>;
  /** The row for an unknown or missing tier. @default the strictest: least rate, then least capacity */
  defaultTier?: string;
  /** The caller's tier, from what was verified. Asked once a guard and call, only where it matters. */
  tierOf?: OfCall<string | undefined>;
  /** @default byIp() */
  key?: KeyResolver;
  /** Calls that it answers `true` to are not limited at all. */
  skip?: OfCall<boolean>;
  /** Which header fields answers carry. @default both */
  headers?: HeaderStyle | readonly HeaderStyle[] | false;
  /**
   * Deadline in ms of one decision, all limits of a request together; a whole number from 1 to
   * 60_000. A stall of our own event loop is not the store's fault: answers already received win.
   * @default 250
   */
  storeTimeoutMs?: number;
  /**
   * Reads the throttlers of `ThrottlerModule`, and honours `@Throttle()`, `@SkipThrottle()`, `skipIf`, `ignoreUserAgents`,
   * `getTracker` and `generateKey`: every guarded route is charged by them, all together. An own limit of a throttler's
   * name takes its place.
   * @default false
   */
  throttlerCompat?: boolean;
}
