// The seam for what a refusal may do besides rejecting. Only rejecting is offered so far: the rest is refused
// here, at start-up, and nowhere else.
import { InvalidLimitError, UnsupportedOperationError } from '../core/errors';
import { shown } from '../core/limit';
import type { RateLimitOptions } from './rate-limit.options';

/**
 * @throws UnsupportedOperationError for what a later version brings
 * @throws InvalidLimitError for what makes no sense
 */
export function checkOnLimit(options: RateLimitOptions, place: string): void {
  const { onLimit, maxWaitMs, chargeOn } = options;
  if (onLimit === 'wait' || (typeof onLimit === 'object' && onLimit !== null)) {
    const asked = onLimit === 'wait' ? '"wait"' : 'deferTo(…)';
    throw new UnsupportedOperationError(
      `${place}: onLimit ${asked} is not available in this version: use "reject"`,
    );
  }
  if (onLimit !== undefined && onLimit !== 'reject') {
    throw new InvalidLimitError(`${place}: onLimit ${shown(onLimit)} is unknown: use "reject"`);
  }
  if (maxWaitMs !== undefined) {
    throw new InvalidLimitError(
      `${place}: maxWaitMs ${shown(maxWaitMs)} only goes with onLimit "wait"`,
    );
  }
  if (chargeOn === undefined || chargeOn === 'always') return;
  if (chargeOn === 'success' || chargeOn === 'failure' || typeof chargeOn === 'function') {
    throw new UnsupportedOperationError(
      `${place}: chargeOn ${shown(chargeOn)} is not available in this version: use "always"`,
    );
  }
  throw new InvalidLimitError(`${place}: chargeOn ${shown(chargeOn)} is unknown: use "always"`);
}
