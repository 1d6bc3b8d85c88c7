// Checks options that count something.
import { InvalidLimitError } from './errors';
import { shown } from './limit';

/** @throws InvalidLimitError unless `value` is a whole number of that range */
export function checkWhole(
  value: unknown,
  option: string,
  least: number,
  most: number,
  place: string,
): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return;
  throw new InvalidLimitError(
    `${place}: ${option} ${shown(value)} is not a whole number from ${least} to ${most}`,
  );
}
