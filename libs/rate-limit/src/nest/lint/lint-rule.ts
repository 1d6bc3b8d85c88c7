// What a rule of the start-up lint looks at, and what it may say.
import type { Type } from '@nestjs/common';
import type { RateLimitStore } from '../../store/rate-limit-store';
import type { Plan } from '../plan';
import type { RateLimitModuleOptions } from '../rate-limit.options';
import type { BoundGuard } from './bound-guards';

/** A planned handler, and the guards that run before it, in order. */
export interface GuardedHandler {
  readonly type: Type;
  readonly plan: Plan;
  readonly guards: readonly BoundGuard[];
}

/** An application that is about to start, as one registration of the module sees it. */
export interface Linted {
  readonly options: RateLimitModuleOptions;
  readonly store: RateLimitStore;
  readonly handlers: readonly GuardedHandler[];
  /** Names of the limits of `always`. */
  readonly always: ReadonlySet<string>;
  /** Names of the limits that stand for throttlers of `@nestjs/throttler`: their numbers are what they are. */
  readonly throttlers: ReadonlySet<string>;
}

/** Looks for one mistake. What it says names the place, and what to do; nothing said: all is well, or not known. */
export type LintRule = (app: Linted) => Iterable<string> | Promise<Iterable<string>>;

const MOST_NAMED = 5;

/** The first few of many places. */
export function listed(places: Iterable<string>): string {
  const all = [...new Set(places)];
  const rest = all.length - MOST_NAMED;
  return all.slice(0, MOST_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
