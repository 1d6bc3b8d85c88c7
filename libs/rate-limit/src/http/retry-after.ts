// Knows when a client may come back, in whole seconds. Pure; the one place where a wait becomes `Retry-After`.
import { type Decision, strictest } from '../core/decision';
import { MS_PER_SECOND } from '../core/duration';

/** Whole seconds that cover a wait in ms: rounded up, so that nobody is told to come too early. */
export function secondsCeil(ms: number): number {
  return Math.ceil(ms / MS_PER_SECOND);
}

/** The value of `Retry-After` for a wait in ms: rounded up, never below 1 (0 would mean "now"). */
export function retryAfterSeconds(waitMs: number): number {
  return Math.max(1, secondsCeil(waitMs));
}

/** The strictest of one or more decisions: a denial, with the longest wait, if there is one. */
export function bindingDecision(decisions: readonly Decision[]): Decision {
  return decisions.reduce(strictest);
}
