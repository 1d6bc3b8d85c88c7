// From a call and its limits to charges: who is skipped, which tier, which key, what cost. Synchronous as long as
// the application's functions are.
import type { ExecutionContext } from '@nestjs/common';
import { MissingKeyError } from '../core/errors';
import type { Caller } from '../http/caller';
import { resolveKey } from '../http/key-resolver';
import { type MaybePromise, whenThere } from '../http/maybe-promise';
import type { PreparedCharge } from '../limiter/charge';
import { priceOf } from '../limiter/policy';
import type { TierTable } from '../limiter/tiers';
import { inTurn } from './in-turn';
import { type PlannedLimit, type PlannedVariant, variantFor } from './plan';
import type { KeyResolver, RateLimitModuleOptions } from './rate-limit.options';

/** A charge, and the variant it comes from. */
export interface CallCharge extends PreparedCharge {
  readonly variant: PlannedVariant;
}

/** What a call is asked about. */
export interface Call {
  readonly caller: Caller;
  readonly context: ExecutionContext;
  readonly limits: readonly PlannedLimit[];
  /** Keys by resolver: one that several limits name is asked once. */
  readonly keys: Map<KeyResolver, string>;
}

/** Finds the charges of calls. */
export class CallCharges {
  constructor(
    private readonly options: Pick<RateLimitModuleOptions, 'skip' | 'tierOf'>,
    private readonly tiers: TierTable | undefined,
  ) {}

  /** The charges of a call; those of limits that are skipped for it are left out. */
  of(call: Call): MaybePromise<CallCharge[]> {
    const skipped = this.options.skip?.(call.caller, call.context) ?? false;
    return whenThere(skipped, (skip) => (skip ? [] : this.#charges(call)));
  }

  #charges(call: Call): MaybePromise<CallCharge[]> {
    return whenThere(this.#tier(call), (tier) =>
      whenThere(
        inTurn(call.limits, (limit) => this.#charge(call, variantFor(limit, tier))),
        (charges) => charges.filter((charge) => charge !== undefined),
      ),
    );
  }

  /** Asked in each guard anew: before authentication the answer may be another. */
  #tier({ caller, context, limits }: Call): MaybePromise<string | undefined> {
    if (limits.every(({ byTier }) => byTier === undefined)) return undefined;
    return whenThere(this.options.tierOf?.(caller, context), (tier) =>
      this.tiers === undefined || (tier !== undefined && this.tiers.names.includes(tier))
        ? tier
        : this.tiers.defaultTier,
    );
  }

  #charge(call: Call, variant: PlannedVariant): MaybePromise<CallCharge | undefined> {
    const { caller, context } = call;
    const { skip, cost, scoped } = variant;
    return whenThere(skip?.(caller, context) ?? false, (skipped) => {
      if (skipped) return undefined;
      return whenThere(typeof cost === 'number' ? cost : cost(caller, context), (tokens) => {
        if (tokens === 0 || isHopelessShadow(variant, tokens)) return undefined;
        return whenThere(this.#key(call, variant), (key) =>
          key === undefined ? undefined : { scoped, key, cost: tokens, variant },
        );
      });
    });
  }

  /** `undefined` only in shadow mode, which denies nobody. @throws MissingKeyError */
  #key(call: Call, { key: resolver, scoped }: PlannedVariant): MaybePromise<string | undefined> {
    const known = call.keys.get(resolver);
    if (known !== undefined) return known;
    const missing = (error: unknown) => {
      if (scoped.policy.shadow && MissingKeyError.is(error)) return undefined;
      throw error;
    };
    try {
      const key = whenThere(resolveKey(resolver, call.caller, call.context), (found) => {
        call.keys.set(resolver, found);
        return found;
      });
      return key instanceof Promise ? key.catch(missing) : key;
    } catch (error) {
      return missing(error);
    }
  }
}

/** A shadow limit that could never be met has nothing to say. */
function isHopelessShadow({ scoped: { policy } }: PlannedVariant, cost: number): boolean {
  return policy.shadow && cost > 0 && priceOf(cost, policy.limit) > policy.limit.capacity;
}
