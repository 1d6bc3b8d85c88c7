// A limiter for one policy and one key: what an outbound client works with.
import type { Decision } from '../core/decision';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import type { LimitRef } from './limit-ref';
import type { Reservation } from './reservation';
import type { Acquired } from './wait-lines';

/** How long a call may wait. */
export interface AcquireOptions {
  /** @default 1 */
  cost?: number;
  /**
   * The longest wait in ms, 0 or more. A call whose turn cannot come in time fails at once.
   * @default 60_000
   */
  timeoutMs?: number;
  /** Ends the wait; what was taken for it is given back. */
  signal?: AbortSignal;
}

/** What is used of a `RateLimiter`. */
interface Limiter {
  consume(key: string, limit?: LimitRef, options?: { cost?: number }): Promise<Decision>;
  acquire(key: string, limit?: LimitRef, options?: AcquireOptions): Promise<Acquired>;
  reserve(
    key: string,
    limit?: LimitRef,
    options?: { cost?: number; maxWaitMs?: number },
  ): Promise<Reservation>;
  block(key: string, limit: LimitRef | undefined, ms: number): Promise<void>;
}

/** @throws InvalidLimitError: what is wrong with a call is found before it waits, and before anything is charged */
export function checkFunction(fn: unknown, what: string): void {
  if (typeof fn === 'function') return;
  throw new InvalidLimitError(`${what} ${shown(fn)} is not a function to run`);
}

/** Calls of a `RateLimiter` with policy and key settled. */
export class BoundLimiter {
  constructor(
    private readonly limiter: Limiter,
    private readonly key: string,
    private readonly limit: LimitRef | undefined,
  ) {}

  /** See `RateLimiter.consume`. */
  consume(options?: { cost?: number }): Promise<Decision> {
    return this.limiter.consume(this.key, this.limit, options);
  }

  /** See `RateLimiter.acquire`. */
  acquire(options?: AcquireOptions): Promise<Acquired> {
    return this.limiter.acquire(this.key, this.limit, options);
  }

  /** See `RateLimiter.reserve`. */
  reserve(options?: { cost?: number; maxWaitMs?: number }): Promise<Reservation> {
    return this.limiter.reserve(this.key, this.limit, options);
  }

  /**
   * Waits for its turn, and calls `fn` then. What `fn` throws is thrown.
   * @throws as `acquire`: `fn` was not called
   */
  async run<T>(fn: () => T | Promise<T>, options?: AcquireOptions): Promise<Awaited<T>> {
    checkFunction(fn, 'run: fn');
    await this.acquire(options);
    return await fn();
  }

  /**
   * Holds everything of this policy and key for `ms`, in all instances: an upstream said 429. Those that wait go on
   * waiting, if their time allows; what asks meanwhile is refused. Needs the shared store.
   */
  pause(ms: number): Promise<void> {
    return this.limiter.block(this.key, this.limit, ms);
  }
}
