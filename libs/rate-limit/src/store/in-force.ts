// Pure: the charge that a configuration makes of a charge.
import type { ParsedLimit } from '../core/limit';
import type { Adjustment, BucketCharge, Outcome } from './rate-limit-store';

/** What holds for a bucket at a moment beside the policy's own numbers. */
export interface InForce {
  /** Instead of the charge's limit. */
  readonly limit?: ParsedLimit;
  /** µs from now in which nothing passes; 0 = not blocked. */
  readonly blockedUs: number;
}

/** The same tokens under the limit that is in force. */
export function underLimit<T extends BucketCharge>(charge: T, limit: ParsedLimit | undefined): T {
  if (limit === undefined) return charge;
  // A price is whole thousandths of a token, and `q` credits are one.
  return { ...charge, limit, price: (charge.price / charge.limit.q) * limit.q };
}

/** The same credits of tokens under the limit that is in force. */
export function adjustmentUnder(
  adjustment: Adjustment,
  limit: ParsedLimit | undefined,
): Adjustment {
  if (limit === undefined) return adjustment;
  return { ...adjustment, limit, credits: (adjustment.credits / adjustment.limit.q) * limit.q };
}

/** Outcomes that say which limit decided them, where it is not the charge's own. */
export function underTheirLimits<T extends Outcome>(
  asked: readonly BucketCharge[],
  decided: readonly BucketCharge[],
  outcomes: readonly T[],
): T[] {
  return outcomes.map((each, i) =>
    decided[i] === asked[i] ? each : { ...each, limit: decided[i].limit },
  );
}
