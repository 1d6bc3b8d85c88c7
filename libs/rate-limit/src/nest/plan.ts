// The effective plan of a handler: what is charged for a call, with everything settled that can be before one.
import type { ExecutionContext } from '@nestjs/common';
import type { MaybePromise } from '../http/maybe-promise';
import type { ConcurrencyLimit } from '../limiter/concurrency-limit';
import type { ScopedPolicy } from '../limiter/policy';
import type { ChargesOutcome } from './charge-on';
import type { HandlerPlace } from './handler-place';
import type { DeferTo, KeyResolver, OfCall } from './rate-limit.options';

/** A limit for the callers of one tier, or for everybody. */
export interface PlannedVariant {
  readonly scoped: ScopedPolicy;
  /** Where the numbers are only known with a call: the policy with them. */
  readonly scopedFor?: (context: ExecutionContext) => MaybePromise<ScopedPolicy>;
  readonly key: KeyResolver;
  readonly cost: number | OfCall<number>;
  readonly skip: OfCall<boolean> | undefined;
  readonly onLimit: 'reject' | 'wait' | DeferTo;
  /** Whether a call is charged that ended so; `undefined`: every call. */
  readonly chargesOutcome: ChargesOutcome | undefined;
  /** 0 unless `onLimit` is `wait`. */
  readonly maxWaitMs: number;
}

/** One limit of a plan. */
export interface PlannedLimit {
  /** The policy's name. */
  readonly name: string;
  /** Variants by tier; absent when all callers have the same numbers. */
  readonly byTier: ReadonlyMap<string, PlannedVariant> | undefined;
  /** For everybody else. */
  readonly otherwise: PlannedVariant;
}

/** One concurrency limit of a handler. */
export interface PlannedSlots {
  readonly limit: ConcurrencyLimit;
  readonly key: KeyResolver;
  readonly skip: OfCall<boolean> | undefined;
}

/** What a call of a handler is charged. */
export interface Plan {
  readonly place: HandlerPlace;
  readonly handler: object;
  /** In order: those of `always`, of the class, of the method. */
  readonly limits: readonly PlannedLimit[];
  /** What may be in flight, whatever is charged. In the same order. */
  readonly slots: readonly PlannedSlots[];
  /** A decorator says what is charged, or that nothing is. */
  readonly decorated: boolean;
}

/** The variant that holds for a tier. */
export function variantFor({ byTier, otherwise }: PlannedLimit, tier: string | undefined) {
  return (tier === undefined ? undefined : byTier?.get(tier)) ?? otherwise;
}
