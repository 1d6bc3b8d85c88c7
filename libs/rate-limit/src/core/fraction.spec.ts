import fc from 'fast-check';
import { fraction, fractionFromBelow, simplestFraction, type Fraction } from './fraction';

function shownAs({ numerator, denominator }: Fraction): string {
  return `${numerator}/${denominator}`;
}

/** The exact value of a double, from its bits. */
function dyadic(value: number): Fraction {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const exponent = Number((word >> 52n) & 0x7ffn);
  const mantissa = (word & 0xfffffffffffffn) | (exponent > 0 ? 1n << 52n : 0n);
  const shift = Math.max(exponent, 1) - 1075;
  return shift >= 0
    ? { numerator: mantissa << BigInt(shift), denominator: 1n }
    : { numerator: mantissa, denominator: 1n << BigInt(-shift) };
}

/** Is a/b within 1e-12 (relative) of `of`? */
function near(a: bigint, b: bigint, { numerator: n, denominator: d }: Fraction): boolean {
  const off = a * d - n * b;
  return (off < 0n ? -off : off) * 1_000_000_000_000n <= n * b;
}

describe('simplestFraction', () => {
  it.each([
    [1 / 3, '1/3'],
    [10 / 13, '10/13'],
    [1 / 49, '1/49'],
    [1 / 3600, '1/3600'],
    [0.1 + 0.2, '3/10'],
    [0.30000000000000004, '3/10'],
    [33.333333333333336, '100/3'],
    [16.67, '1667/100'],
    [0.57 * 1000, '570/1'],
    [1e-9, '1/1000000000'],
    [5, '5/1'],
    [1e12, '1000000000000/1'],
    [2 ** 53 - 1, '9007199254740991/1'],
    [2 ** 60, '1152921504606846976/1'],
  ])('%p is %p', (value, expected) => expect(shownAs(simplestFraction(value))).toBe(expected));

  it.each([5e-324, Number.MAX_VALUE])('comes to an end for %p', (value) => {
    const { numerator, denominator } = simplestFraction(value);
    expect(near(numerator, denominator, dyadic(value))).toBe(true);
  });

  it('does not take ten digits of a third for a third', () => {
    const { numerator, denominator } = simplestFraction(0.3333333333);
    expect(numerator * 3n).not.toBe(denominator);
    expect(near(numerator, denominator, dyadic(0.3333333333))).toBe(true);
  });

  it('finds every fraction of small whole numbers again', () => {
    const part = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(part, part, (p, q) => {
        expect(simplestFraction(p / q)).toEqual(fraction(BigInt(p), BigInt(q)));
      }),
      { numRuns: 5000 },
    );
  });

  it('lies within 1e-12, in lowest terms', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), (value) => {
        const { numerator, denominator } = simplestFraction(value);
        expect(near(numerator, denominator, dyadic(value))).toBe(true);
        expect(fraction(numerator, denominator)).toEqual({ numerator, denominator });
      }),
      { numRuns: 5000 },
    );
  });

  it('has the least denominator of all that lie so near', () => {
    const nearlyTidy = fc
      .tuple(
        fc.integer({ min: 1, max: 2000 }),
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: -40, max: 40 }),
      )
      .map(([p, q, noise]) => (p / q) * (1 + noise * 1e-13));
    fc.assert(
      fc.property(nearlyTidy, (value) => {
        const exact = dyadic(value);
        const { denominator } = simplestFraction(value);
        if (exact.denominator === 1n) return; // whole numbers are taken as they are
        const most = denominator < 500n ? denominator : 500n;
        for (let d = 1n; d < most; d++) {
          const below = (exact.numerator * d) / exact.denominator;
          if (near(below, d, exact) || near(below + 1n, d, exact)) {
            throw new Error(`${denominator} is not the least denominator: ${d} is near enough`);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('fractionFromBelow', () => {
  it('keeps what fits', () => {
    expect(fractionFromBelow({ numerator: 7n, denominator: 10n }, 10n)).toEqual({
      numerator: 7n,
      denominator: 10n,
    });
  });

  it('is the nearest from below, as a search through all denominators finds it', () => {
    const part = fc.bigInt({ min: 1n, max: 5000n });
    fc.assert(
      fc.property(part, part, fc.bigInt({ min: 1n, max: 120n }), (p, q, most) => {
        const exact = fraction(p, q);
        let best = { numerator: 0n, denominator: 1n };
        for (let d = 1n; d <= most; d++) {
          const n = (exact.numerator * d) / exact.denominator;
          if (n * best.denominator > best.numerator * d) best = fraction(n, d);
        }
        expect(fractionFromBelow(exact, most)).toEqual(best);
      }),
      { numRuns: 5000 },
    );
  });

  it('finds neighbours of pi in a handful of steps', () => {
    const pi = { numerator: 31415926535897932n, denominator: 10n ** 16n };
    expect(shownAs(fractionFromBelow(pi, 200n))).toBe('333/106');
    expect(shownAs(fractionFromBelow(pi, 10n ** 12n))).toMatch(/^\d+\/\d{12}$/);
  });
});
