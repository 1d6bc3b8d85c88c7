import fc from 'fast-check';
import {
  checkName,
  costThousandths,
  MAX_CREDITS,
  parseLimit,
  ratePerSecond,
  shown,
  type Limit,
} from './limit';

const PLACE = 'RateLimitModule: tiers.free';

function parsed(limit: Limit) {
  return parseLimit(limit, PLACE);
}

/** `undefined` for a limit that needs numbers which do not fit: those are refused, with a reason. */
function parsedOrRefused(limit: Limit) {
  try {
    return parsed(limit);
  } catch (error) {
    if (
      /^RateLimitModule: tiers\.free: rate .* cannot be counted exactly/.test(
        String((error as Error).message),
      )
    )
      return undefined;
    throw error;
  }
}

describe('parseLimit: exact fractions', () => {
  it.each<[string, Limit, { n: number; q: number; capacity: number; limit: number }]>([
    ['10/s', { rate: 10 }, { n: 1, q: 100, capacity: 2e6, limit: 20 }],
    ['0.1/s', { rate: 0.1 }, { n: 1, q: 1e4, capacity: 1e7, limit: 1 }],
    ['1/3 a second', { rate: 1 / 3 }, { n: 1, q: 3000, capacity: 3e6, limit: 1 }],
    ['10/13 a second', { rate: 10 / 13 }, { n: 1, q: 1300, capacity: 2e6, limit: 1 }],
    ['1/49 a second', { rate: 1 / 49 }, { n: 1, q: 49_000, capacity: 4.9e7, limit: 1 }],
    ['1/3600 a second', { rate: 1 / 3600 }, { n: 1, q: 3.6e6, capacity: 3.6e9, limit: 1 }],
    ['1 an hour', { rate: 1, per: 'hour' }, { n: 1, q: 3.6e6, capacity: 3.6e9, limit: 1 }],
    [
      '1e-6/s of 2000',
      { rate: 1e-6, capacity: 2000 },
      { n: 1, q: 1e9, capacity: 2e15, limit: 2000 },
    ],
    ['1e6/s', { rate: 1e6 }, { n: 1000, q: 1, capacity: 2e9, limit: 2e6 }],
    ['1e9/s', { rate: 1e9 }, { n: 1e6, q: 1, capacity: 2e12, limit: 2e9 }],
    ['5000/s of 1', { rate: 5000, capacity: 1 }, { n: 5, q: 1, capacity: 1000, limit: 1 }],
    ['0.1 + 0.2', { rate: 0.1 + 0.2 }, { n: 3, q: 1e4, capacity: 1e7, limit: 1 }],
    ['100 000 a day', { rate: 1e5, per: 'day' }, { n: 1, q: 864, capacity: 8.64e10, limit: 1e5 }],
    [
      '99 999 a day',
      { rate: 99_999, per: 'day' },
      { n: 11_111, q: 9.6e6, capacity: 959_990_400_000_000, limit: 99_999 },
    ],
    ['100/min', { rate: 100, per: 'minute' }, { n: 1, q: 600, capacity: 6e7, limit: 100 }],
    ['3 per 250 ms', { rate: 3, per: 250 }, { n: 3, q: 250, capacity: 1.5e6, limit: 6 }],
    [
      'a fractional capacity',
      { rate: 2, capacity: 2.5 },
      { n: 1, q: 500, capacity: 1.25e6, limit: 2 },
    ],
    [
      'a capacity with float noise',
      { rate: 1, capacity: 0.57 * 10 },
      { n: 1, q: 1000, capacity: 5.7e6, limit: 5 },
    ],
    [
      'a capacity below a thousandth more',
      { rate: 1, capacity: 1.0009 },
      { n: 1, q: 1000, capacity: 1e6, limit: 1 },
    ],
  ])('%s', (_, limit, numbers) => {
    expect(parsed(limit)).toMatchObject(numbers);
  });

  it('rounds a rate down that does not fit, by less than 1e-7', () => {
    const prime = parsed({ rate: 999_983, per: 'day' });
    expect(prime).toMatchObject({ n: 26_007, q: 2_247_043, limit: 999_983 });
    expect(BigInt(prime.n) * 86_400_000n < 999_983n * BigInt(prime.q)).toBe(true);
    const large = parsed({ rate: 100_000_007, per: 'day' });
    expect(large).toMatchObject({ n: 125, q: 108, limit: 100_000_007 });
    expect(BigInt(large.n) * 86_400_000n < 100_000_007n * BigInt(large.q)).toBe(true);
  });

  it('says what was asked for, after defaults and rounding', () => {
    expect(parsed({ rate: 10 / 13 })).toMatchObject({
      algorithm: 'token-bucket',
      rate: 10 / 13,
      perMs: 1000,
      capacityTokens: 20 / 13,
    });
    expect(parsed({ rate: 5, per: 'minute', capacity: 7.1239 })).toMatchObject({
      perMs: 60_000,
      capacityTokens: 7.123,
    });
    expect(ratePerSecond(parsed({ rate: 90, per: 'minute' }))).toBe(1.5);
  });

  it.each<[Limit, number]>([
    [{ rate: 3 }, 6],
    [{ rate: 3, per: 1000 }, 6],
    [{ rate: 3, per: 999 }, 6],
    [{ rate: 3, per: 1001 }, 3],
    [{ rate: 3, per: 'minute' }, 3],
    [{ rate: 0.2 }, 1],
    [{ rate: 0.2, per: 'day' }, 1],
  ])('%p holds %p tokens when no capacity is given', (limit, tokens) => {
    expect(parsed(limit).capacityTokens).toBe(tokens);
  });

  it('tells limits apart by a fingerprint of 24 bits', () => {
    const prints = [
      { rate: 1 },
      { rate: 2 },
      { rate: 1, capacity: 3 },
      { rate: 2, capacity: 2 },
    ].map((limit) => parsed(limit).fingerprint);
    expect(new Set(prints).size).toBe(4);
    for (const print of prints) expect(print >= 0 && print < 2 ** 24).toBe(true);
    expect(parsed({ rate: 60, per: 'minute', capacity: 2 }).fingerprint).toBe(
      parsed({ rate: 1 }).fingerprint,
    );
  });

  it('stays below 2^51, in lowest terms, never above the rate that was asked for', () => {
    const limits = fc.record({
      rate: fc.oneof(
        fc
          .double({ min: -9, max: 12, noNaN: true })
          .map((power) => Math.min(1e12, Math.max(1e-9, 10 ** power))),
        fc.integer({ min: 1, max: 1_000_000 }),
      ),
      per: fc.constantFrom<Limit['per']>('second', 'minute', 'hour', 'day', 1, 7, 250, 86_400_001),
      capacity: fc.option(
        fc.double({ min: 0, max: 12, noNaN: true }).map((power) => 10 ** power),
        { nil: undefined },
      ),
    });
    let refused = 0;
    fc.assert(
      fc.property(limits, (limit) => {
        const found = parsedOrRefused(limit);
        if (found === undefined) {
          refused++;
          return;
        }
        const { n, q, capacity, capacityTokens } = found;
        expect([n, q, capacity].every((number) => Number.isSafeInteger(number))).toBe(true);
        expect(Math.min(n, q)).toBeGreaterThanOrEqual(1);
        expect(Math.max(n, q * 1000, capacity)).toBeLessThanOrEqual(MAX_CREDITS);
        expect(capacity).toBeGreaterThanOrEqual(q * 1000);
        const ratio = n / q / (limit.rate / found.perMs);
        expect(ratio).toBeLessThan(1 + 2e-12);
        expect(ratio).toBeGreaterThan(1 - 1.1e-7);
        const asked = limit.capacity ?? capacityTokens;
        expect(capacityTokens).toBeLessThanOrEqual(asked * (1 + 1e-9));
        expect(capacityTokens).toBeGreaterThan(asked * (1 - 1e-14) - 0.001);
      }),
      { numRuns: 5000 },
    );
    expect(refused).toBeLessThan(3500);
  });
});

describe('names', () => {
  it.each(['a', 'free', 'a_b-c9', 'a'.repeat(64)])('%p is one', (name) => {
    expect(() => checkName(name, PLACE)).not.toThrow();
    expect(parsed({ rate: 1, name })).toEqual(parsed({ rate: 1 }));
  });
});

describe('costThousandths', () => {
  it.each([
    [1, 1000],
    [0.57, 570],
    [1.1, 1100],
    [0.0001, 1],
    [0.0011, 2],
    [1e-12, 1],
    [5e-324, 1],
    [1e-9, 1],
  ])('a cost of %p takes %p thousandths', (cost, thousandths) => {
    expect(costThousandths(cost)).toBe(thousandths);
  });

  it('makes a cost as large as the capacity fit, however large', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 2 ** 41 }), (k) => {
        const { q, capacity } = parsed({ rate: 1, per: 1, capacity: k / 1000 });
        expect(costThousandths(k / 1000) * q).toBe(capacity);
        expect(capacity).toBe(k);
      }),
      { numRuns: 5000 },
    );
  });

  it('is exact for thousandths, and rounds everything else up', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), (k) => {
        expect(costThousandths(k / 1000)).toBe(k);
        expect(costThousandths(k * 0.001)).toBe(k);
        expect(costThousandths(k / 1000 + 0.0001)).toBe(k + 1);
        expect(costThousandths(k / 1000 - 0.0001)).toBe(k);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('shown', () => {
  it.each<[unknown, string]>([
    ['a"b', '"a\\"b"'],
    ['x'.repeat(100), `"${'x'.repeat(80)}…"`],
    [10n, '10n'],
    [[1, 'a'], '[1, "a"]'],
    [{ secret: 1 }, 'an object'],
    [() => 1, 'a function'],
    [null, 'null'],
    [undefined, 'undefined'],
    [NaN, 'NaN'],
    [Symbol('s'), 'Symbol(s)'],
  ])('%p as %s', (value, text) => expect(shown(value)).toBe(text));
});
