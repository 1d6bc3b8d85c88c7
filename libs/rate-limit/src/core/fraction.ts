// Pure: a double as the fraction its author meant. BigInt is used here only, at construction time.

/** A non-negative rational number in lowest terms. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * How far from the double the fraction may lie, as 1 part in this number. A double's own error is
 * about 1e-16 of its value, so 1e-12 also catches the result of a few float operations, while
 * a typed 0.3333333333 (ten digits) stays what it is.
 */
const PRECISION = 1_000_000_000_000n;

function gcd(a: bigint, b: bigint): bigint {
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

/** The fraction `numerator / denominator` in lowest terms. */
export function fraction(numerator: bigint, denominator: bigint): Fraction {
  const divisor = gcd(numerator, denominator);
  return { numerator: numerator / divisor, denominator: denominator / divisor };
}

/** The exact dyadic value of a positive finite double. */
function exactly(value: number): Fraction {
  let denominator = 1n;
  while (!Number.isInteger(value)) {
    value *= 2; // exact: only the exponent changes
    denominator *= 2n;
  }
  return fraction(BigInt(value), denominator);
}

/**
 * The simplest fraction (least denominator) within 1e-12 of `value`: 0.3333333333333333 → 1/3,
 * 0.1 + 0.2 → 3/10. Integers are taken as they are. `value` must be positive and finite.
 *
 * Walks the continued fraction of the interval [value·(1−1e-12), value·(1+1e-12)]: where the whole
 * parts of both ends agree they are kept, where they part the next whole number is the simplest
 * choice (Stern–Brocot).
 */
export function simplestFraction(value: number): Fraction {
  const exact = exactly(value);
  if (exact.denominator === 1n) return exact;
  const scale = exact.denominator * PRECISION;
  let lowNumerator = exact.numerator * (PRECISION - 1n);
  let lowDenominator = scale;
  let highNumerator = exact.numerator * (PRECISION + 1n);
  let highDenominator = scale;
  // Convergents of the answer so far: h/k and the one before.
  let [h, k, hBefore, kBefore] = [1n, 0n, 0n, 1n];
  for (;;) {
    const whole = lowNumerator / lowDenominator;
    const exactLow = whole * lowDenominator === lowNumerator;
    const next = exactLow ? whole : whole + 1n;
    if (next * highDenominator <= highNumerator) {
      return { numerator: next * h + hBefore, denominator: next * k + kBefore };
    }
    [h, k, hBefore, kBefore] = [whole * h + hBefore, whole * k + kBefore, h, k];
    // x → 1 / (x − whole) turns the interval over.
    [lowNumerator, lowDenominator, highNumerator, highDenominator] = [
      highDenominator,
      highNumerator - whole * highDenominator,
      lowDenominator,
      lowNumerator - whole * lowDenominator,
    ];
  }
}

/**
 * The best approximation of `exact` from below whose denominator is at most `maxDenominator`.
 * From below, because a rate rounded down can never admit too much.
 */
export function fractionFromBelow(exact: Fraction, maxDenominator: bigint): Fraction {
  if (exact.denominator <= maxDenominator) return exact;
  // Stern–Brocot descent in leaps: low ≤ exact < high.
  const whole = exact.numerator / exact.denominator;
  let [lowNumerator, lowDenominator] = [whole, 1n];
  let [highNumerator, highDenominator] = [whole + 1n, 1n];
  for (;;) {
    // Largest k with low ⊕ k·high still ≤ exact.
    const gapLow = exact.numerator * lowDenominator - lowNumerator * exact.denominator;
    const gapHigh = highNumerator * exact.denominator - exact.numerator * highDenominator;
    const room = (maxDenominator - lowDenominator) / highDenominator;
    const leap = gapHigh === 0n ? room : gapLow / gapHigh;
    const step = leap < room ? leap : room;
    lowNumerator += step * highNumerator;
    lowDenominator += step * highDenominator;
    const nextGapLow = gapLow - step * gapHigh;
    if (step === room || nextGapLow === 0n) break;
    // Smallest k with high ⊕ k·low no longer > exact, one less.
    const highRoom = (maxDenominator - highDenominator) / lowDenominator;
    const highLeap = (gapHigh - 1n) / nextGapLow;
    const highStep = highLeap < highRoom ? highLeap : highRoom;
    if (highStep === 0n && step === 0n) break;
    highNumerator += highStep * lowNumerator;
    highDenominator += highStep * lowDenominator;
  }
  return fraction(lowNumerator, lowDenominator);
}
