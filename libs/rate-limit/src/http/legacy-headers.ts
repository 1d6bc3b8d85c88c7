// Knows the de facto `X-RateLimit-*` headers; must not know requests or stores. Pure.
import { type LimitedDecision } from './limited-decision';
import { bindingDecision, retryAfterSeconds, secondsCeil } from './retry-after';
import { sfInteger } from './structured-field';

/**
 * `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the tightest limit: a denying one before an allowing one, then
 * the least remaining/limit. Limit is the capacity, so that Remaining never exceeds it; Remaining is 0 on a
 * denial; Reset is in whole seconds from now until the bucket is full, never before `Retry-After`.
 *
 * @param entries at least one.
 */
export function legacyHeaders(entries: readonly LimitedDecision[]): Array<[string, string]> {
  const tightest = bindingDecision(entries.map((entry) => entry.decision));
  const untilFull = secondsCeil(tightest.resetAfterMs);
  const reset = tightest.allowed
    ? untilFull
    : Math.max(untilFull, retryAfterSeconds(tightest.retryAfterMs));
  return [
    ['X-RateLimit-Limit', sfInteger(tightest.limit)],
    ['X-RateLimit-Remaining', sfInteger(tightest.allowed ? tightest.remaining : 0)],
    ['X-RateLimit-Reset', sfInteger(reset)],
  ];
}
