// Charges that depend on how a call ends: taken before the handler, given back when the answer says so. Knows no store.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';

/** How a call ended. */
export interface Outcome {
  /** Of the answer; of an aborted one what it would have been, as far as it was known. */
  readonly statusCode: number;
  /** The connection was closed before the answer was complete. */
  readonly aborted: boolean;
}

/** Which calls are charged, by how they end. */
export type ChargeOn = 'always' | 'success' | 'failure' | ((outcome: Outcome) => boolean);

/** Whether a call that ended so is charged. */
export type ChargesOutcome = (outcome: Outcome) => boolean;

const succeeded = ({ statusCode, aborted }: Outcome) => statusCode < 400 && !aborted;

/** `undefined`: every call is charged. @throws InvalidLimitError */
export function chargesOutcome(
  chargeOn: ChargeOn | undefined,
  place: string,
): ChargesOutcome | undefined {
  if (chargeOn === undefined || chargeOn === 'always') return undefined;
  if (chargeOn === 'success') return succeeded;
  if (chargeOn === 'failure') return (outcome) => !succeeded(outcome);
  if (typeof chargeOn === 'function') return chargeOn;
  throw new InvalidLimitError(
    `${place}: chargeOn ${shown(chargeOn)} is unknown: use "always", "success", "failure" or a function of the outcome`,
  );
}
