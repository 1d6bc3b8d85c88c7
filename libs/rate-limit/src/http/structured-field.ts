// Knows how RFC 9651 writes strings and integers; must not know rate limits. Pure.
import { InvalidLimitError } from '../core/errors';

/** Largest integer of a structured field: fifteen digits. */
export const SF_INTEGER_MAX = 999_999_999_999_999;

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/**
 * A String: quoted, `"` and `\` escaped.
 *
 * @throws InvalidLimitError for anything but printable ASCII, which the format cannot carry (and which could
 * break out of the header line).
 */
export function sfString(text: string): string {
  if (!PRINTABLE_ASCII.test(text)) {
    throw new InvalidLimitError(
      `${JSON.stringify(text)} cannot be sent in a header: use printable ASCII only`,
    );
  }
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * A non-negative Integer. Above fifteen digits it is the largest one that the format can carry, below zero it is 0.
 *
 * @throws InvalidLimitError for NaN, infinities and fractions: round first.
 */
export function sfInteger(value: number): string {
  if (!Number.isInteger(value)) {
    throw new InvalidLimitError(
      `${value} cannot be sent in a header as an integer: round it to a finite whole number first`,
    );
  }
  return String(Math.min(SF_INTEGER_MAX, Math.max(0, value)));
}
