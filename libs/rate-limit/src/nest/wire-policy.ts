// The numbers of a decision's limit for the wire, worked out once a limit.
import type { Decision } from '../core/decision';
import { type ParsedLimit, ratePerSecond } from '../core/limit';
import type { WirePolicy } from '../http/limited-decision';
import { limitBehind } from '../limiter/charge';
import type { Policy } from '../limiter/policy';

const known = new WeakMap<ParsedLimit, Map<string, WirePolicy>>();

/** What clients are told of the limit that decided: the policy's own, or the one configured for the caller. */
export function wirePolicy(decision: Decision, { name, limit: own }: Policy): WirePolicy {
  const limit = limitBehind(decision) ?? own;
  let byName = known.get(limit);
  if (byName === undefined) known.set(limit, (byName = new Map()));
  let wire = byName.get(name);
  if (wire === undefined) {
    wire = { name, capacity: limit.capacityTokens, ratePerSecond: ratePerSecond(limit) };
    byName.set(name, wire);
  }
  return wire;
}
