// Exact rational numbers for the oracle. Knows nothing of buckets.

/** `[numerator, denominator]`, the denominator positive; not always in lowest terms, so {@link compare} them. */
export type Ratio = readonly [bigint, bigint];

function gcd(a: bigint, b: bigint): bigint {
  if (a < 0n) a = -a;
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

/** Reducing costs much more than multiplying: only numbers that have become long are reduced. */
const LONG = 2n ** 192n;

/** `a / b`; `b` is positive. */
export function ratio(a: bigint | number, b: bigint | number = 1n): Ratio {
  const [x, y] = [BigInt(a), BigInt(b)];
  if (y < LONG) return [x, y];
  const divisor = gcd(x, y);
  return [x / divisor, y / divisor];
}

export const ZERO = ratio(0n);

export function plus([a, b]: Ratio, [c, d]: Ratio): Ratio {
  return b === d ? ratio(a + c, b) : ratio(a * d + c * b, b * d);
}

export function minus(x: Ratio, [c, d]: Ratio): Ratio {
  return plus(x, [-c, d]);
}

export function times([a, b]: Ratio, [c, d]: Ratio): Ratio {
  return ratio(a * c, b * d);
}

/** `y` is positive. */
export function over(x: Ratio, [c, d]: Ratio): Ratio {
  return times(x, [d, c]);
}

/** Negative, zero or positive, as x is less than, equal to or more than y. */
export function compare([a, b]: Ratio, [c, d]: Ratio): number {
  const [left, right] = [a * d, c * b];
  return left < right ? -1 : left > right ? 1 : 0;
}

export function least(x: Ratio, y: Ratio): Ratio {
  return compare(x, y) <= 0 ? x : y;
}

export function most(x: Ratio, y: Ratio): Ratio {
  return compare(x, y) >= 0 ? x : y;
}

export function floor([a, b]: Ratio): bigint {
  const quotient = a / b;
  return a < 0n && quotient * b !== a ? quotient - 1n : quotient;
}

export function ceil([a, b]: Ratio): bigint {
  return -floor([-a, b]);
}
