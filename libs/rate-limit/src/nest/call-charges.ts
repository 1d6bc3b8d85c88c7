// From a call and its limits to charges: who is skipped, which tier, which key, what cost. Synchronous as long as
// the application's functions are.
import type { ExecutionContext } from '@nestjs/common';
import { MissingKeyError } from '../core/errors';
import type { Caller } from '../http/caller';
import { resolveKey } from '../http/key-resolver';
import { type MaybePromise, whenThere } from '../http/maybe-promise';
import { checkCost, type PreparedCharge } from '../limiter/charge';
import { priceOf } from '../limiter/policy';
import type { TierTable } from '../limiter/tiers';
import { inTurn } from './in-turn';
import type { UserWatch } from './lint/user-watch';
import { variantsOf } from './on-limit';
import { type PlannedLimit, type PlannedVariant, variantFor } from './plan';
import type { KeyResolver, RateLimitModuleOptions } from './rate-limit.options';
import type { TransportAdapter } from './transports/transport';

/** A charge, and the variant it comes from. */
export interface CallCharge extends PreparedCharge {
  readonly variant: PlannedVariant;
}

/** What a call is asked about. */
export interface Call {
  readonly transport: TransportAdapter;
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
    /** Told what went wrong in a limit that only shadows: nobody else hears of it. */
    private readonly report: (error: unknown) => void,
    private readonly users: UserWatch,
  ) {}

  /** The charges of a call; those of limits that are skipped for it are left out. */
  of(call: Call): MaybePromise<CallCharge[]> {
    if (!call.limits.every(onlyShadows)) return this.#of(call);
    return this.#unseen([], () => this.#of(call));
  }

  #of(call: Call): MaybePromise<CallCharge[]> {
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
    if (!variant.scoped.policy.shadow) return this.#asked(call, variant);
    return this.#unseen(undefined, () => this.#asked(call, variant));
  }

  /** A shadow changes no answer, whatever the functions beside it do. */
  #unseen<T>(otherwise: T, ask: () => MaybePromise<T>): MaybePromise<T> {
    const unseen = (error: unknown) => {
      if (!MissingKeyError.is(error)) this.report(error);
      return otherwise;
    };
    try {
      const answer = ask();
      return answer instanceof Promise ? answer.catch(unseen) : answer;
    } catch (error) {
      return unseen(error);
    }
  }

  #asked(call: Call, variant: PlannedVariant): MaybePromise<CallCharge | undefined> {
    const { caller, context } = call;
    const { skip, cost } = variant;
    return whenThere(skip?.(caller, context) ?? false, (skipped) => {
      if (skipped) return undefined;
      return whenThere(typeof cost === 'number' ? cost : cost(caller, context), (tokens) => {
        if (tokens === 0) return undefined;
        const { scoped: known, scopedFor } = variant;
        return whenThere(scopedFor === undefined ? known : scopedFor(context), (scoped) => {
          checkCost(tokens, scoped.policy, () => placeOf(context));
          if (isHopelessShadow(variant, tokens)) return undefined;
          return whenThere(this.#key(call, variant), (key) => ({
            scoped,
            key,
            cost: tokens,
            variant,
          }));
        });
      });
    });
  }

  /** @throws MissingKeyError */
  #key(call: Call, variant: PlannedVariant): MaybePromise<string> {
    const { key: resolver } = variant;
    const known = call.keys.get(resolver);
    if (known !== undefined) return known;
    this.users.look(call.caller, variant);
    return whenThere(resolveKey(resolver, call.caller, call.context), (found) => {
      call.keys.set(resolver, found);
      return found;
    });
  }
}

/** A shadow limit that could never be met has nothing to say. */
function isHopelessShadow({ scoped: { policy } }: PlannedVariant, cost: number): boolean {
  return policy.shadow && priceOf(cost, policy.limit) > policy.limit.capacity;
}

function onlyShadows(limit: PlannedLimit): boolean {
  return limit.otherwise.scoped.policy.shadow && variantsOf(limit).every(isShadow);
}

/** True for what is decided and reported, and never denies. */
export function isShadow({ scoped: { policy } }: Pick<PlannedVariant, 'scoped'>): boolean {
  return policy.shadow;
}

function placeOf(context: ExecutionContext): string {
  return `${context.getClass().name}.${context.getHandler().name}`;
}
