// Knows what the wire has to tell about one limit: its numbers and the answer it gave.
import { type Decision, strictest } from '../core/decision';

/**
 * The numbers of a policy. Hand in the same object for every request: what depends on it alone is
 * serialised once an object.
 */
export interface WirePolicy {
  /** `[a-z][a-z0-9_-]*`; joins the two fields of the `draft` style. */
  readonly name: string;
  /** Tokens; may be fractional; at least 1. */
  readonly capacity: number;
  /** Tokens a second; above 0, finite. */
  readonly ratePerSecond: number;
}

/** An enforced policy and what it decided. Shadow policies do not belong on the wire. */
export interface LimitedDecision {
  readonly decision: Decision;
  readonly policy: WirePolicy;
}

/** Each policy name once, in order of first appearance; of two with one name the strictest stays. */
export function oncePerName(entries: readonly LimitedDecision[]): readonly LimitedDecision[] {
  if (entries.length < 2) return entries;
  const byName = new Map<string, LimitedDecision>();
  for (const entry of entries) {
    const known = byName.get(entry.policy.name);
    if (known === undefined || strictest(known.decision, entry.decision) !== known.decision) {
      byName.set(entry.policy.name, entry);
    }
  }
  return byName.size === entries.length ? entries : [...byName.values()];
}
