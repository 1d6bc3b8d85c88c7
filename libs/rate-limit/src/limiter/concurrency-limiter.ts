// The use case of slots, framework-free: who may start now, and who is told that he may not go on.
import { type Clock, systemClock } from '../core/clock';
import type { Decision } from '../core/decision';
import {
  ConcurrencyExceededError,
  InvalidLimitError,
  LimiterClosedError,
  MissingKeyError,
  UnsupportedOperationError,
} from '../core/errors';
import { shown } from '../core/limit';
import type { Awaitable } from '../store/rate-limit-store';
import type { AnsweringLeases } from '../store/resilient-port';
import { onAbort } from './aborts';
import {
  CONCURRENCY_RETRY_MS,
  type ConcurrencyLimit,
  type ConcurrencyOptions,
} from './concurrency-limit';
import type { LimiterEmitter } from './events';
import type { Lease } from './held-lease';
import { type Asked, LeaseKeeper } from './lease-keeper';
import { APP_SCOPE, type PolicyRegistry } from './policy-registry';

/** What a call of {@link ConcurrencyLimiter.run} may say. */
export interface WithConcurrencyOptions extends ConcurrencyOptions {
  /** @default 'app' */
  scope?: string;
  /** Ends the wait for a slot, and aborts the signal that the function gets. */
  signal?: AbortSignal;
}

/** Whether a call may start; with a lease to give back, if it holds a slot. */
export interface Entry {
  readonly decision: Decision;
  readonly lease: Lease | undefined;
}

/** Limits what is in flight. All instances on one store share their slots. */
export class ConcurrencyLimiter {
  readonly #keeper: LeaseKeeper | undefined;
  #closed = false;

  /** @param leases `undefined` for a store of somebody's own that has none */
  constructor(
    leases: AnsweringLeases | undefined,
    private readonly registry: PolicyRegistry,
    private readonly events: LimiterEmitter,
    clock: Clock = systemClock,
  ) {
    this.#keeper = leases && new LeaseKeeper(leases, clock);
  }

  /**
   * Asks for a slot of `key`, now or never. A refusal is a value; a limit that only shadows never refuses.
   *
   * @param lost told once, if the slot is lost before it is given back
   * @throws StoreUnavailableError when the store is out and the limit is `closed`
   */
  enter(limit: ConcurrencyLimit, key: string, lost?: (reason: Error) => void): Awaitable<Entry> {
    const asked = this.ask(limit, key, lost);
    return asked instanceof Promise
      ? asked.then((settled) => this.#entry(limit, key, settled))
      : this.#entry(limit, key, asked);
  }

  /** The same, but tells nobody. Shadow mode plays no part. */
  ask(limit: ConcurrencyLimit, key: string, lost?: (reason: Error) => void): Awaitable<Asked> {
    this.#check();
    const { name, place, max, localMax, leaseMs, failureMode } = limit;
    return (this.#keeper as LeaseKeeper).hold(
      {
        slots: place.bucket(key),
        place: `concurrency limit "${name}"`,
        max,
        localMax,
        leaseMs,
        failureMode,
      },
      lost,
    );
  }

  /**
   * Runs `fn` if fewer than `max` calls of `key` are in flight, and holds a slot while it runs.
   *
   * @param fn gets a signal that aborts when the caller's does, or when the slot is lost (with a `LeaseLostError`);
   *   the slot is given back when `fn` has ended, not before
   * @throws ConcurrencyExceededError when all slots are taken; `fn` was not called
   * @throws the reason of `signal`, if it aborts before `fn` is called
   * @throws InvalidLimitError, MissingKeyError, StoreUnavailableError; `fn` was not called
   */
  async run<T>(
    key: string,
    options: WithConcurrencyOptions,
    fn: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<Awaited<T>> {
    const limit = this.#checked(key, options, fn);
    const { signal } = options;
    signal?.throwIfAborted();
    const controller = new AbortController();
    const { decision, lease } = await this.enter(limit, key, (reason) => controller.abort(reason));
    if (!decision.allowed) {
      throw new ConcurrencyExceededError(
        `as many calls of ${JSON.stringify(limit.name)} are in flight as may be (${limit.max}): try again when one has ended`,
        [decision],
      );
    }
    let stopListening: (() => void) | undefined;
    try {
      signal?.throwIfAborted();
      stopListening = onAbort(signal, (reason) => controller.abort(reason));
      return await fn(controller.signal);
    } finally {
      stopListening?.();
      await lease?.release();
    }
  }

  /** What is lost from here on is no accident. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Ends the keeping of leases. Functions that still run on slots of a shared store are told to end. */
  close(): void {
    this.#closed = true;
    this.#keeper?.close();
  }

  /** @throws UnsupportedOperationError when the store has no slots */
  checkSupported(place: string): void {
    if (this.#keeper !== undefined) return;
    throw new UnsupportedOperationError(
      `${place}: the store of RateLimitModule has no leases, so it cannot limit what is in flight: give it leases, or use redis`,
    );
  }

  #checked(
    key: string,
    options: WithConcurrencyOptions,
    fn: (signal: AbortSignal) => unknown,
  ): ConcurrencyLimit {
    this.#check();
    if (typeof key !== 'string' || key === '') {
      throw new MissingKeyError(`key ${shown(key)} is not a text: whose calls are they?`);
    }
    const { scope = APP_SCOPE, signal } = options ?? {};
    if (typeof scope !== 'string' || scope === '') {
      throw new InvalidLimitError(`withConcurrency: scope ${shown(scope)} is not a text`);
    }
    const limit = this.registry.concurrency(options, scope, 'withConcurrency');
    if (signal !== undefined && typeof signal?.throwIfAborted !== 'function') {
      throw new InvalidLimitError(`withConcurrency: signal ${shown(signal)} is not an AbortSignal`);
    }
    if (typeof fn !== 'function') {
      throw new InvalidLimitError(`withConcurrency: ${shown(fn)} is not a function to run`);
    }
    return limit;
  }

  #check(): void {
    if (this.#closed) throw new LimiterClosedError('the rate limiter is closed');
    this.checkSupported('a concurrency limit');
  }

  #entry({ name, max, shadow }: ConcurrencyLimit, key: string, { answer, lease }: Asked): Entry {
    const { granted, inFlight, source, degraded } = answer;
    const waitMs = granted ? 0 : CONCURRENCY_RETRY_MS;
    const decision: Decision = {
      allowed: granted,
      policy: name,
      key,
      cost: 1,
      limit: max,
      remaining: Math.max(0, max - inFlight),
      retryAfterMs: waitMs,
      resetAfterMs: waitMs,
      source,
      degraded,
    };
    this.events.decided(decision, granted, shadow);
    if (granted || !shadow) return { decision, lease };
    return { decision: { ...decision, allowed: true, retryAfterMs: 0, resetAfterMs: 0 }, lease };
  }
}
