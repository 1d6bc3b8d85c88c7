// A policy: a limit with a name, and what happens to it when the store is out. Framework-free.
import { isWindow } from '../core/algorithms/algorithm';
import { InvalidLimitError } from '../core/errors';
import type { BucketNamer, BucketPlace } from '../core/bucket-key';
import {
  checkName,
  costThousandths,
  parseLimit,
  shown,
  type Limit,
  type ParsedLimit,
} from '../core/limit';
import { FAILURE_MODES, type FailureMode } from '../store/resilient-port';

/** The name of a limit that was given none. */
export const DEFAULT_NAME = 'default';

/** What a policy does beyond its numbers; each may be set for the module and for one policy. */
export interface PolicyBehaviour {
  /**
   * What answers when the shared store is out.
   * @default 'local'
   */
  onStoreFailure?: FailureMode;
  /**
   * The share of the limit that this process may use on its own in `local`: more than 0, at most 1.
   * N instances then admit at most N × localShare × (capacity + rate × T).
   * @default 1
   */
  localShare?: number;
  /**
   * `shadow`: decide and report, never deny.
   * @default 'enforce'
   */
  mode?: 'enforce' | 'shadow';
}

/** A limit with a name, parsed. */
export interface Policy {
  readonly name: string;
  /** As it is now: `LiveNumbers` may change it, so read it once a charge. */
  readonly limit: ParsedLimit;
  readonly failureMode: FailureMode;
  /** As it is now. */
  readonly localLimit: ParsedLimit;
  readonly shadow: boolean;
}

/** A policy in one scope: everything of a charge that is known before the key and the cost. */
export interface ScopedPolicy {
  readonly policy: Policy;
  readonly scope: string;
  readonly place: BucketPlace;
}

/** @throws InvalidLimitError unless the options make sense; `place` says where they stand */
export function checkBehaviour(behaviour: PolicyBehaviour, place: string): void {
  const { onStoreFailure, localShare, mode } = behaviour;
  if (onStoreFailure !== undefined && !FAILURE_MODES.includes(onStoreFailure)) {
    throw new InvalidLimitError(
      `${place}: onStoreFailure ${shown(onStoreFailure)} is unknown: use ${FAILURE_MODES.map(shown).join(', ')}`,
    );
  }
  if (
    localShare !== undefined &&
    !(typeof localShare === 'number' && localShare > 0 && localShare <= 1)
  ) {
    throw new InvalidLimitError(
      `${place}: localShare ${shown(localShare)} is not a number above 0 and at most 1`,
    );
  }
  if (mode !== undefined && mode !== 'enforce' && mode !== 'shadow') {
    throw new InvalidLimitError(
      `${place}: mode ${shown(mode)} is unknown: use "enforce", "shadow"`,
    );
  }
}

/** The part of a limit that one process may use on its own; a burst of one call is always left. */
export function shareOf(limit: ParsedLimit, share: number, place: string): ParsedLimit {
  if (share === 1) return limit;
  return parseLimit(
    {
      rate: isWindow(limit) ? Math.max(1, limit.rate * share) : limit.rate * share,
      per: limit.perMs,
      capacity: isWindow(limit) ? undefined : Math.max(1, limit.capacityTokens * share),
      algorithm: limit.algorithm,
    },
    `${place} (localShare ${share})`,
  );
}

/**
 * Parses a policy once.
 * @param place where it stands, for messages
 * @throws InvalidLimitError naming place, option and value
 */
export function parsePolicy(
  limit: Limit,
  behaviour: PolicyBehaviour,
  defaults: PolicyBehaviour,
  place: string,
): Policy {
  const parsed = parseLimit(limit, place);
  checkBehaviour(behaviour, place);
  const name = limit.name ?? DEFAULT_NAME;
  checkName(name, place);
  const share = behaviour.localShare ?? defaults.localShare ?? 1;
  return {
    name,
    limit: parsed,
    localLimit: shareOf(parsed, share, place),
    ...failureModeOf(behaviour, defaults),
  };
}

/** What happens when the store is out; a shadow never denies, not even then. */
export function failureModeOf(
  behaviour: PolicyBehaviour,
  defaults: PolicyBehaviour,
): Pick<Policy, 'failureMode' | 'shadow'> {
  const failureMode = behaviour.onStoreFailure ?? defaults.onStoreFailure ?? 'local';
  const shadow = (behaviour.mode ?? defaults.mode ?? 'enforce') === 'shadow';
  return { failureMode: shadow && failureMode === 'closed' ? 'open' : failureMode, shadow };
}

/** A policy in a scope. */
export function scoped(policy: Policy, scope: string, namer: BucketNamer): ScopedPolicy {
  return { policy, scope, place: namer.place(policy.name, scope) };
}

/** Credits that `cost` takes under a limit; the cost must be positive and finite. */
export function priceOf(cost: number, { q }: ParsedLimit): number {
  return costThousandths(cost) * q;
}
