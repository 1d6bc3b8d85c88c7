// Knows the IETF draft's `RateLimit` and `RateLimit-Policy` fields; must not know requests or stores. Pure.
//
// Revision: draft-ietf-httpapi-ratelimit-headers-11 (lists of named items; the syntax of -08 to -11). It is no
// RFC: a later revision may rename `r` and `t`. Another revision is another file with the same two functions.
import { type LimitedDecision, oncePerName, type WirePolicy } from './limited-decision';
import { retryAfterSeconds, secondsCeil } from './retry-after';
import { sfInteger, sfString } from './structured-field';

/** Rates are kept as fractions within 1e-12, so a quotient this close to a whole number is that number. */
const RELATIVE_DUST = 1e-12;

/** The wire text that depends on the policy alone. */
interface PolicyText {
  /** `"burst"` */
  readonly name: string;
  /** `"burst";q=20;w=10` */
  readonly item: string;
}

const policyTexts = new WeakMap<WirePolicy, PolicyText>();

/**
 * `RateLimit-Policy`: what holds. For a bucket of capacity C tokens that refills at R tokens a second:
 * `w` = max(1, ceil(C/R)), the seconds from empty to full; `q` = floor(C), or floor(R) when that is more and
 * the bucket fills within a second (q/w never above R otherwise, so a client that paces at q/w is never refused).
 */
export function draftPolicyField(entries: readonly LimitedDecision[]): string {
  return oncePerName(entries)
    .map(({ policy }) => policyText(policy).item)
    .join(', ');
}

/**
 * `RateLimit`: what is left. `r` = whole tokens left. `t`, seconds, at least 1 = after a denial the wait until the
 * same call passes, the same number as this policy's `Retry-After`; else the time until the bucket is full.
 */
export function draftStateField(entries: readonly LimitedDecision[]): string {
  return oncePerName(entries)
    .map(({ decision, policy }) => {
      const t = decision.allowed
        ? Math.max(1, secondsCeil(decision.resetAfterMs))
        : retryAfterSeconds(decision.retryAfterMs);
      return `${policyText(policy).name};r=${sfInteger(decision.remaining)};t=${sfInteger(t)}`;
    })
    .join(', ');
}

function policyText(policy: WirePolicy): PolicyText {
  let text = policyTexts.get(policy);
  if (text === undefined) {
    text = serialised(policy);
    policyTexts.set(policy, text);
  }
  return text;
}

function serialised({ name, capacity, ratePerSecond }: WirePolicy): PolicyText {
  const secondsToFull = withoutDust(capacity / ratePerSecond);
  const w = Math.max(1, Math.ceil(secondsToFull));
  const burst = Math.floor(capacity);
  const q = secondsToFull < 1 ? Math.max(burst, Math.floor(withoutDust(ratePerSecond))) : burst;
  const quoted = sfString(name);
  return { name: quoted, item: `${quoted};q=${sfInteger(q)};w=${sfInteger(w)}` };
}

function withoutDust(value: number): number {
  const nearest = Math.round(value);
  return Math.abs(value - nearest) <= nearest * RELATIVE_DUST ? nearest : value;
}
