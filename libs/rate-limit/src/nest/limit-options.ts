// What a set of limit options may hold, wherever it stands. Checks everything that needs no other part.
import { InvalidLimitError } from '../core/errors';
import { checkName, shown } from '../core/limit';
import { checkBehaviour } from '../limiter/policy';
import { checkOnLimit } from './on-limit';
import type { RateLimitOptions } from './rate-limit.options';

/** The options that are numbers of a limit. */
export const LIMIT_KEYS = ['rate', 'per', 'capacity', 'algorithm', 'name'] as const;
const NUMBER_KEYS = ['rate', 'per', 'capacity', 'algorithm'] as const;
const KNOWN_KEYS = [
  ...LIMIT_KEYS,
  'tier',
  'key',
  'scope',
  'cost',
  'onLimit',
  'maxWaitMs',
  'chargeOn',
  'onStoreFailure',
  'localShare',
  'mode',
  'skip',
] as const;

/** @throws InvalidLimitError unless `value` is a plain set of options of these names */
export function checkKeys(
  value: unknown,
  known: readonly string[],
  place: string,
): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidLimitError(`${place}: ${shown(value)} is not a set of options`);
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    throw new InvalidLimitError(
      `${place}: option ${shown(key)} is unknown; known options: ${known.join(', ')}`,
    );
  }
}

/** @throws InvalidLimitError unless the option is left out or a function */
export function checkFunction(value: unknown, option: string, place: string): void {
  if (value === undefined || typeof value === 'function') return;
  throw new InvalidLimitError(`${place}: ${option} ${shown(value)} is not a function`);
}

/** True when numbers stand in the options, so that they name no limit from elsewhere. */
export function hasNumbers(options: RateLimitOptions): boolean {
  return NUMBER_KEYS.some((key) => key in options);
}

/** The tiers that the options are for; `undefined`: for everybody. */
export function tiersOf({ tier }: RateLimitOptions): readonly string[] | undefined {
  if (tier === undefined) return undefined;
  return typeof tier === 'string' ? [tier] : tier;
}

/**
 * Checks limit options; the numbers themselves are parsed later.
 *
 * @throws InvalidLimitError, UnsupportedOperationError naming the place, the option and the value
 */
export function checkLimitOptions(
  options: unknown,
  place: string,
): asserts options is RateLimitOptions {
  checkKeys(options, KNOWN_KEYS, place);
  const { name, tier, key, scope, cost, skip } = options as RateLimitOptions;
  if (name !== undefined) checkName(name, place);
  checkFunction(key, 'key', place);
  checkFunction(skip, 'skip', place);
  if (scope !== undefined && (typeof scope !== 'string' || scope === '')) {
    throw new InvalidLimitError(
      `${place}: scope ${shown(scope)} is not "route", "controller", "app" or a text of your own`,
    );
  }
  if (
    cost !== undefined &&
    typeof cost !== 'function' &&
    !(typeof cost === 'number' && cost > 0 && cost < Infinity)
  ) {
    throw new InvalidLimitError(
      `${place}: cost ${shown(cost)} is neither a positive finite number nor a function`,
    );
  }
  if (tier !== undefined) checkTiers(tier, place);
  checkBehaviour(options, place);
  checkOnLimit(options, place);
}

function checkTiers(tier: unknown, place: string): void {
  const tiers: unknown = typeof tier === 'string' ? [tier] : tier;
  if (
    Array.isArray(tiers) &&
    tiers.length > 0 &&
    tiers.every((each) => typeof each === 'string' && each !== '')
  ) {
    return;
  }
  throw new InvalidLimitError(
    `${place}: tier ${shown(tier)} is not the name of a tier, nor a list of names`,
  );
}
