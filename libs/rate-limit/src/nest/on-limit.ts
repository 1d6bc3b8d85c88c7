// What a refusal may do besides rejecting, and where it may stand. Deferring is only known by its seam here: what
// does it is in nest-rate-limit/queue.
import { isWindow } from '../core/algorithms/algorithm';
import { InvalidLimitError, UnsupportedOperationError } from '../core/errors';
import { shown } from '../core/limit';
import { chargesOutcome } from './charge-on';
import type { Plan, PlannedLimit, PlannedVariant } from './plan';
import type { DeferTo, RateLimitOptions } from './rate-limit.options';

/** A request that is held for longer than an hour is a mistake. */
const LONGEST_WAIT_MS = 3_600_000;

/** @throws InvalidLimitError for what makes no sense */
export function checkOnLimit(options: RateLimitOptions, place: string): void {
  const { onLimit, maxWaitMs, chargeOn } = options;
  if (onLimit !== undefined && onLimit !== 'reject' && onLimit !== 'wait' && !isDeferTo(onLimit)) {
    throw new InvalidLimitError(
      `${place}: onLimit ${shown(onLimit)} is unknown: use "reject", "wait" or deferTo(…) of nest-rate-limit/queue`,
    );
  }
  if (onLimit === 'wait') {
    if (
      !Number.isInteger(maxWaitMs) ||
      (maxWaitMs as number) < 1 ||
      (maxWaitMs as number) > LONGEST_WAIT_MS
    ) {
      throw new InvalidLimitError(
        `${place}: maxWaitMs ${shown(maxWaitMs)} is not a whole number from 1 to ${LONGEST_WAIT_MS}: onLimit "wait" needs the longest wait`,
      );
    }
  } else if (maxWaitMs !== undefined) {
    throw new InvalidLimitError(
      `${place}: maxWaitMs ${shown(maxWaitMs)} only goes with onLimit "wait"`,
    );
  }
  if (chargesOutcome(chargeOn, place) !== undefined && isDeferTo(onLimit)) {
    throw new InvalidLimitError(
      `${place}: chargeOn ${shown(chargeOn)} does not go with deferTo: a deferred call has no outcome yet when it is answered`,
    );
  }
}

/** True for what `deferTo` makes. */
export function isDeferTo(onLimit: unknown): onLimit is DeferTo {
  return (
    typeof onLimit === 'object' &&
    onLimit !== null &&
    typeof (onLimit as Partial<DeferTo>).wrap === 'function'
  );
}

/**
 * @throws InvalidLimitError when several limits of a handler wait, or several defer
 * @throws UnsupportedOperationError when one waits or defers whose algorithm cannot
 */
export function checkOnLimits({ limits, place }: Plan): void {
  for (const { onLimit, scoped } of limits.flatMap(variantsOf)) {
    const { name, limit } = scoped.policy;
    if (onLimit === 'wait' && isWindow(limit)) {
      throw new UnsupportedOperationError(
        `${place.name}: onLimit "wait" of ${shown(name)} needs a moment to wait for, and algorithm "${limit.algorithm}" promises none: use "token-bucket" or "leaky-bucket", or reject`,
      );
    }
    if (isDeferTo(onLimit) && limit.algorithm !== 'token-bucket') {
      throw new UnsupportedOperationError(
        `${place.name}: deferTo of ${shown(name)} paces by a token bucket, and its algorithm is "${limit.algorithm}": use "token-bucket", or reject`,
      );
    }
  }
  const waiting = limitsThat(limits, ({ onLimit }) => onLimit === 'wait');
  if (waiting.length > 1) {
    throw new InvalidLimitError(
      `${place.name}: the limits ${namesOf(waiting)} have onLimit "wait", and only one of a handler's may: let the others reject`,
    );
  }
  const deferring = limitsThat(limits, ({ onLimit }) => isDeferTo(onLimit));
  const byOutcome = limitsThat(limits, ({ chargesOutcome: charges }) => charges !== undefined);
  if (deferring.length > 0 && byOutcome.length > 0) {
    throw new InvalidLimitError(
      `${place.name}: ${namesOf(byOutcome)} has chargeOn and ${namesOf(deferring)} has deferTo: a deferred call has no outcome yet when it is answered; use one of the two`,
    );
  }
  if (deferring.length > 1) {
    throw new InvalidLimitError(
      `${place.name}: the limits ${namesOf(deferring)} have deferTo, and only one of a handler's may: let the others reject`,
    );
  }
}

/** The variants of a limit: for everybody, and for tiers. */
export function variantsOf({ byTier, otherwise }: PlannedLimit): PlannedVariant[] {
  return [...(byTier?.values() ?? []), otherwise];
}

function limitsThat(
  limits: readonly PlannedLimit[],
  does: (variant: PlannedVariant) => boolean,
): PlannedLimit[] {
  return limits.filter((limit) => variantsOf(limit).some(does));
}

function namesOf(limits: readonly PlannedLimit[]): string {
  return limits.map(({ name }) => shown(name)).join(', ');
}
