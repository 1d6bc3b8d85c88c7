// The effective limits of a handler as plain data, for people and for documentation.
import type { FailureMode } from '../store/resilient-port';
import type { Plan, PlannedLimit, PlannedVariant } from './plan';

/** The numbers that hold for the callers of one tier, or for everybody. */
export interface RouteLimitNumbers {
  /** `undefined`: for everybody who has no row of his own. */
  readonly tier: string | undefined;
  /** Tokens per `perMs`. */
  readonly rate: number;
  readonly perMs: number;
  readonly capacity: number;
  readonly scope: string;
  /** Tokens that a call takes; `'computed'` by a function. */
  readonly cost: number | 'computed';
  readonly mode: 'enforce' | 'shadow';
  readonly onStoreFailure: FailureMode;
  /** A function may exempt calls. */
  readonly skippable: boolean;
}

/** One limit of a handler. */
export interface RoutePolicy extends RouteLimitNumbers {
  readonly name: string;
  /** Other numbers for some tiers; empty when all callers have the same. */
  readonly variants: readonly RouteLimitNumbers[];
}

/** What a call of a handler is charged, if a guard looks at it. */
export interface RouteLimit {
  /** `UsersController.create`. */
  readonly handler: string;
  /** `POST`; `undefined` for a handler without a route. */
  readonly method: string | undefined;
  /** Path templates, without the global prefix. */
  readonly paths: readonly string[];
  /** The scope of limits of this handler alone. */
  readonly scope: string;
  /** Empty: not limited. */
  readonly policies: readonly RoutePolicy[];
}

/** A plan as data. */
export function routeLimit({ place, limits }: Plan): RouteLimit {
  return {
    handler: place.name,
    method: place.method,
    paths: place.paths,
    scope: place.route,
    policies: limits.map(routePolicy),
  };
}

function routePolicy({ name, byTier, otherwise }: PlannedLimit): RoutePolicy {
  return {
    name,
    ...numbersOf(otherwise, undefined),
    variants: [...(byTier ?? [])].map(([tier, variant]) => numbersOf(variant, tier)),
  };
}

function numbersOf(
  { scoped: { policy, scope }, cost, skip }: PlannedVariant,
  tier: string | undefined,
): RouteLimitNumbers {
  const { rate, perMs, capacityTokens } = policy.limit;
  return {
    tier,
    rate,
    perMs,
    capacity: capacityTokens,
    scope,
    cost: typeof cost === 'number' ? cost : 'computed',
    mode: policy.shadow ? 'shadow' : 'enforce',
    onStoreFailure: policy.failureMode,
    skippable: skip !== undefined,
  };
}
