// Charges of the limiter and how they become charges of buckets, and answers become decisions.
import { strictest, type CombinedDecision, type Decision } from '../core/decision';
import { msFromUsCeil } from '../core/duration';
import { CostExceedsCapacityError, InvalidCostError, InvalidLimitError } from '../core/errors';
import { type ParsedLimit, shown, THOUSANDTHS_PER_TOKEN } from '../core/limit';
import type { Outcome } from '../store/rate-limit-store';
import type { Answer, ResilientCharge } from '../store/resilient-port';
import { type Policy, priceOf, type ScopedPolicy } from './policy';

/** Beside the decisions, which are plain data. */
const limits = new WeakMap<Decision, ParsedLimit>();
const blocks = new WeakSet<Decision>();
const refused = new WeakSet<Decision>();

/** One charge, with everything about it settled. */
export interface PreparedCharge {
  readonly scoped: ScopedPolicy;
  readonly key: string;
  /** Tokens; checked by {@link bucketCharge}. */
  readonly cost: number;
}

/**
 * @param place where the cost comes from, if that is known: in front of the message
 * @throws InvalidCostError unless the cost is a positive finite number
 */
export function checkCost(
  cost: unknown,
  { name }: Policy,
  place?: () => string,
): asserts cost is number {
  if (typeof cost === 'number' && cost > 0 && cost < Infinity) return;
  const where = place === undefined ? '' : `${place()}: `;
  throw new InvalidCostError(
    `${where}cost ${shown(cost)} of policy "${name}" is not a positive finite number`,
  );
}

/**
 * @throws InvalidCostError, CostExceedsCapacityError; the bucket is untouched
 */
export function bucketCharge(
  { scoped: { policy, place }, key, cost }: PreparedCharge,
  maxWaitUs = 0,
): ResilientCharge {
  const { limit } = policy;
  checkCost(cost, policy);
  const price = priceOf(cost, limit);
  if (price > limit.capacity) {
    throw new CostExceedsCapacityError(
      `cost ${cost} is more than the capacity ${limit.capacityTokens} of policy "${policy.name}": raise the capacity or split the call`,
    );
  }
  return {
    bucket: place.bucket(key),
    place: place.name,
    configuration: place.configuration(key),
    limit,
    price,
    maxWaitUs,
    failureMode: policy.failureMode,
    localLimit: policy.localLimit,
  };
}

/**
 * A charge in the numbers of now: those of its policy may have changed since it was made, and its bucket is counted by
 * them. By the old ones it would be cut to their capacity.
 * @param parts what it was made of
 */
export function recounted(
  charge: ResilientCharge,
  parts: readonly PreparedCharge[],
): ResilientCharge {
  const { limit, localLimit } = parts[0].scoped.policy;
  if (limit === charge.limit) return charge;
  const price = parts.reduce((sum, { cost }) => sum + priceOf(cost, limit), 0);
  return { ...charge, limit, localLimit, price };
}

/**
 * Charges of one bucket become one: their costs add up. Returns, for each charge, which of the
 * merged ones it is part of.
 *
 * @throws InvalidLimitError when one bucket is charged under two different limits
 * @throws CostExceedsCapacityError when the sum could never pass
 */
export function merged(charges: readonly ResilientCharge[]): {
  charges: ResilientCharge[];
  at: number[];
} {
  if (charges.length === 1) return { charges: [charges[0]], at: [0] };
  const byBucket = new Map<string, number>();
  const distinct: ResilientCharge[] = [];
  const at = charges.map((charge) => {
    const known = byBucket.get(charge.bucket);
    if (known === undefined) {
      byBucket.set(charge.bucket, distinct.length);
      return distinct.push(charge) - 1;
    }
    const sum = distinct[known];
    const { n, q, capacity } = sum.limit;
    if (n !== charge.limit.n || q !== charge.limit.q || capacity !== charge.limit.capacity) {
      throw new InvalidLimitError(
        `one call charges the bucket of ${charge.place} under two different limits: give them different names`,
      );
    }
    const price = sum.price + charge.price;
    if (price > capacity) {
      throw new CostExceedsCapacityError(
        `the costs of one call to ${charge.place} add up to more than its capacity: raise the capacity or split the call`,
      );
    }
    distinct[known] = { ...sum, price };
    return known;
  });
  return { charges: distinct, at };
}

/** The decision that an outcome means for a charge. */
export function decision(
  { scoped: { policy }, key, cost }: PreparedCharge,
  { granted, waitUs, credits, fullInUs, limit = policy.limit, blocked }: Outcome,
  { source, degraded }: Answer,
): Decision {
  if (waitUs === Infinity && !policy.shadow) {
    throw new CostExceedsCapacityError(
      `cost ${cost} is more than the capacity ${limit.capacityTokens} that is configured for this key under policy "${policy.name}": split the call`,
    );
  }
  const creditsPerToken = limit.q * THOUSANDTHS_PER_TOKEN;
  const decided: Decision = {
    allowed: granted,
    policy: policy.name,
    key,
    cost,
    limit: limit.limit,
    remaining: credits > 0 ? Math.floor(credits / creditsPerToken) : 0,
    retryAfterMs: granted ? 0 : msFromUsCeil(waitUs),
    resetAfterMs: msFromUsCeil(fullInUs),
    source,
    degraded,
  };
  limits.set(decided, limit);
  if (blocked) blocks.add(decided);
  return decided;
}

/** The same decision about a call that is let pass all the same: somebody else will pay, or it is only a shadow. */
export function letPass(denied: Decision): Decision {
  const passed = { ...denied, allowed: true, retryAfterMs: 0 };
  refused.add(passed);
  const limit = limits.get(denied);
  if (limit !== undefined) limits.set(passed, limit);
  return passed;
}

/** True for a denial that was made an allowance: its bucket was not charged. */
export function wasRefused(made: Decision): boolean {
  return refused.has(made);
}

/** True for a denial by a block that was set by hand: waiting for tokens does not help. */
export function isBlock(made: Decision): boolean {
  return blocks.has(made);
}

/** The limit that a decision of this limiter was made by: the policy's own, or the configured one. */
export function limitBehind(made: Decision): ParsedLimit | undefined {
  return limits.get(made);
}

/** What the answer of a store means for charges. @param at which outcome each is part of */
export function combined(
  charges: readonly PreparedCharge[],
  at: readonly number[],
  answer: Answer,
): CombinedDecision {
  const decisions = charges.map((charge, i) => decision(charge, answer.outcomes[at[i]], answer));
  return {
    allowed: decisions.every(({ allowed }) => allowed),
    decisions,
    binding: decisions.reduce(strictest),
  };
}
