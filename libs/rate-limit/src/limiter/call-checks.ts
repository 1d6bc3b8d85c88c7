// Pure: checks of what a call was given beside numbers and key. What is wrong is said before anything is asked of a store.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';

/** Times beyond this are not counted: 100 years. */
const MOST_WAIT_MS = 100 * 365.25 * 86_400_000;
/** Charges of one call. The script that makes them keeps every other client of the store waiting. */
const MOST_CHARGES = 1000;

/** @throws InvalidLimitError for options that are no object */
export function checkOptions(options: unknown, what: string): asserts options is object {
  if (typeof options === 'object' && options !== null) return;
  throw new InvalidLimitError(`${what}: ${shown(options)} is not a set of options`);
}

/** @throws InvalidLimitError for an empty list, one that is too long, and entries that are none */
export function checkCharges(charges: unknown, what: string): void {
  if (!Array.isArray(charges) || charges.length === 0) {
    throw new InvalidLimitError(`${what}: ${shown(charges)} is not a list of at least one charge`);
  }
  if (charges.length > MOST_CHARGES) {
    throw new InvalidLimitError(
      `${what}: ${charges.length} charges are more than the ${MOST_CHARGES} that one call may make together: split the call`,
    );
  }
  for (const charge of charges) {
    if (typeof charge === 'object' && charge !== null) continue;
    throw new InvalidLimitError(`${what}: ${shown(charge)} is not a charge: give { key }`);
  }
}

/** @throws InvalidLimitError */
export function checkScope(scope: unknown): void {
  if (scope === undefined || (typeof scope === 'string' && scope !== '')) return;
  throw new InvalidLimitError(`scope ${shown(scope)} is not a text`);
}

/** @throws InvalidLimitError */
export function checkWait(ms: unknown, what: string): void {
  if (typeof ms === 'number' && ms >= 0 && ms <= MOST_WAIT_MS) return;
  throw new InvalidLimitError(`${what} ${shown(ms)} is not a number of ms, 0 to 100 years`);
}

/** @throws InvalidLimitError */
export function checkSignal(signal: unknown, what: string): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new InvalidLimitError(`${what}: signal ${shown(signal)} is not an AbortSignal`);
}
