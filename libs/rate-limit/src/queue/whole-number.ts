// Pure: the check of numbers that count something.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';

/** @throws InvalidLimitError for a number that is not whole or below `least` */
export function wholeNumber(value: unknown, place: string, option: string, least: number): number {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw new InvalidLimitError(
      `${place}: ${option} ${shown(value)} is not a whole number of at least ${least}`,
    );
  }
  return value as number;
}
