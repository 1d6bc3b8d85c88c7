// The limiter as a service: everything of the framework-free one, and what only Nest knows.
import { Inject, Injectable } from '@nestjs/common';
import type { Scheduler } from '../core/clock';
import type { CombinedDecision, Decision } from '../core/decision';
import { InvalidLimitError, RateLimitExceededError } from '../core/errors';
import { shown } from '../core/limit';
import { ConcurrencyLimiter, type WithConcurrencyOptions } from '../limiter/concurrency-limiter';
import type { LimiterEmitter } from '../limiter/events';
import type { PolicyRegistry } from '../limiter/policy-registry';
import { RateLimiter } from '../limiter/rate-limiter';
import type { AnsweringStore } from '../store/resilient-port';
import { PlanTable } from './plan-table';
import {
  ANSWERING_STORE,
  LIMITER_EMITTER,
  POLICY_REGISTRY,
  SCHEDULER,
} from './rate-limit.constants';
import { type RouteLimit, routeLimit } from './route-limit';

/** Decides charges by hand, from anywhere in the application. Shares all buckets with the guard. */
@Injectable()
export class RateLimiterService extends RateLimiter {
  constructor(
    @Inject(ANSWERING_STORE) store: AnsweringStore,
    @Inject(POLICY_REGISTRY) registry: PolicyRegistry,
    @Inject(LIMITER_EMITTER) events: LimiterEmitter,
    @Inject(PlanTable) private readonly plans: PlanTable,
    @Inject(ConcurrencyLimiter) private readonly concurrency: ConcurrencyLimiter,
    @Inject(SCHEDULER) clock: Scheduler,
  ) {
    super(store, registry, events, clock);
  }

  /**
   * Runs `fn` if fewer than `max` calls of `key` are in flight over all instances; it holds a slot until it has ended.
   *
   * @param fn gets a signal that aborts with yours, or with a `LeaseLostError` when the slot is lost: Redis could not be
   *   told in time that it is in use, so somebody else may have it
   * @throws ConcurrencyExceededError (429) when all slots are taken; `fn` was not called
   * @throws the reason of `signal`, if it aborts before `fn` is called
   * @throws InvalidLimitError, MissingKeyError, StoreUnavailableError (when `closed`): `fn` was not called
   */
  withConcurrency<T>(
    key: string,
    options: WithConcurrencyOptions,
    fn: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<Awaited<T>> {
    return this.concurrency.run(key, options, fn);
  }

  override async close(): Promise<void> {
    this.concurrency.close();
    await super.close();
  }

  /**
   * The effective limits of every handler that the start found. Whether a guard is bound to it is not
   * known here.
   */
  routes(): RouteLimit[] {
    return this.plans.plans.map(routeLimit);
  }

  /**
   * Does nothing for an allowance. In a handler the error is answered with 429 and `Retry-After`.
   * @throws RateLimitExceededError for a denial
   */
  assertAllowed(decision: Decision | CombinedDecision): void {
    if (typeof decision !== 'object' || decision === null) {
      throw new InvalidLimitError(`assertAllowed: ${shown(decision)} is not a decision`);
    }
    if (decision.allowed) return;
    const decisions = 'decisions' in decision ? decision.decisions : [decision];
    const { policy, cost, retryAfterMs } = 'binding' in decision ? decision.binding : decision;
    throw new RateLimitExceededError(
      `policy "${policy}" refused a cost of ${cost}: try again in ${retryAfterMs} ms`,
      decisions,
    );
  }
}
