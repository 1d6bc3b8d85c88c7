// What one @RateLimit says: its arguments, in whatever form, as one set of options.
import type { ExecutionContext } from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { shown, type Limit } from '../core/limit';
import type { MaybePromise } from '../http/maybe-promise';
import { DEFAULT_NAME } from '../limiter/policy';
import { checkLimitOptions, hasNumbers, tiersOf } from './limit-options';
import type { RateLimitOptions } from './rate-limit.options';

/** `numbers` stand here; `policy` and `table` (the tier table, else the module's limit) elsewhere. */
export type LimitSource = 'numbers' | 'policy' | 'table';

/** A limit as it was declared on a class, a method or the module. */
export interface DeclaredLimit {
  readonly source: LimitSource;
  /** The policy's name. */
  readonly name: string;
  /** Only for callers of these tiers. */
  readonly tiers: readonly string[] | undefined;
  readonly options: RateLimitOptions;
  /** Where it stands, for messages. */
  readonly place: string;
  /** Numbers that are only known with a call; those of the options stand in until then. */
  readonly numbersOf?: (context: ExecutionContext) => MaybePromise<Limit>;
}

/** A limit of plain options. @throws InvalidLimitError, UnsupportedOperationError */
export function declaredByOptions(options: RateLimitOptions, place: string): DeclaredLimit {
  checkLimitOptions(options, place);
  const source = hasNumbers(options) ? 'numbers' : 'table';
  const tiers = tiersOf(options);
  if (source === 'numbers' && options.rate === undefined) {
    throw new InvalidLimitError(`${place}: rate is missing: give { rate, capacity }`);
  }
  if (source === 'table' && tiers !== undefined) {
    throw new InvalidLimitError(
      `${place}: tier ${shown(options.tier)} goes with numbers: give { rate, capacity, tier }`,
    );
  }
  return { source, name: options.name ?? DEFAULT_NAME, tiers, options, place };
}

/**
 * The limit that the arguments of a decorator declare.
 *
 * @throws InvalidLimitError, UnsupportedOperationError naming the place, the option and the value
 */
export function declaredLimit(args: readonly unknown[], place: string): DeclaredLimit {
  const [first, second, third] = args;
  if (args.length === 0) return declaredByOptions({}, place);
  if (typeof first === 'string') {
    atMost(2, args, place);
    return declaredPolicy(first, second, place);
  }
  if (typeof first === 'object' && first !== null) {
    atMost(1, args, place);
    return declaredByOptions(first, place);
  }
  atMost(3, args, place);
  const numbers = { rate: first, ...(args.length > 1 && { capacity: second }) } as RateLimitOptions;
  if (third === undefined) return declaredByOptions(numbers, place);
  if (typeof third === 'string' || Array.isArray(third)) {
    return declaredByOptions({ ...numbers, tier: third as string | string[] }, place);
  }
  checkLimitOptions(third, place);
  for (const option of ['rate', 'capacity']) {
    if (option in third) {
      throw new InvalidLimitError(
        `${place}: ${option} is given twice: leave it out of the options`,
      );
    }
  }
  return declaredByOptions({ ...third, ...numbers }, place);
}

function declaredPolicy(name: string, given: unknown, place: string): DeclaredLimit {
  const options: unknown = given === undefined ? {} : given;
  if (typeof options !== 'object') {
    throw new InvalidLimitError(
      `${place}: @RateLimit(${shown(name)}, ${shown(options)}) is not possible: a text in front is the name of a policy, so numbers beside it have no place; give the rate as a number`,
    );
  }
  checkLimitOptions(options, place);
  for (const option of ['rate', 'per', 'capacity', 'algorithm', 'name', 'tier'] as const) {
    if (option in options) {
      throw new InvalidLimitError(
        `${place}: ${option} ${shown(options[option])} cannot be set for the named policy ${shown(name)}: set it where the policy is registered, or leave the name out`,
      );
    }
  }
  return { source: 'policy', name, tiers: undefined, options, place };
}

function atMost(count: number, args: readonly unknown[], place: string): void {
  if (args.length <= count) return;
  throw new InvalidLimitError(
    `${place}: @RateLimit(${args.map(shown).join(', ')}) has too many arguments`,
  );
}
