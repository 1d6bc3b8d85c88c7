// Long, because all styles are tried on the same entries: what they say of one response has to agree.
import * as fc from 'fast-check';
import { parseList } from 'structured-headers';

import { type Decision } from '../core/decision';
import { InvalidLimitError } from '../core/errors';
import { draftPolicyField } from './draft-headers';
import { type LimitedDecision } from './limited-decision';
import { headerWriter, type HeaderWriter } from './rate-limit-headers';

type Case = Partial<Decision> & { name?: string; capacity?: number; ratePerSecond?: number };

function entry({ name = 'default', capacity = 10, ratePerSecond = 1, ...decision }: Case) {
  return {
    policy: { name, capacity, ratePerSecond },
    decision: {
      allowed: (decision.retryAfterMs ?? 0) === 0,
      policy: name,
      key: 'ip:1.2.3.4',
      cost: 1,
      limit: Math.floor(capacity),
      remaining: 0,
      retryAfterMs: 0,
      resetAfterMs: 1000,
      source: 'memory',
      degraded: false,
      ...decision,
    },
  } satisfies LimitedDecision;
}

const written = (write: HeaderWriter, ...entries: LimitedDecision[]) =>
  Object.fromEntries(write(entries));

const draft = headerWriter('draft');
const legacy = headerWriter('legacy');

describe('headerWriter', () => {
  it('writes both styles by default, each header once, the same fields on 200 and on 429', () => {
    const write = headerWriter();
    const names = (entries: LimitedDecision[]) => write(entries).map(([name]) => name);
    const always = [
      'RateLimit-Policy',
      'RateLimit',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
    ];
    expect(names([entry({})])).toEqual(always);
    expect(names([entry({ retryAfterMs: 1 })])).toEqual([...always, 'Retry-After']);
    expect(headerWriter(['draft', 'legacy', 'draft'])([entry({})])).toEqual(write([entry({})]));
  });

  it('writes Retry-After alone when the styles are off', () => {
    for (const write of [headerWriter(false), headerWriter([])]) {
      expect(write([entry({})])).toEqual([]);
      expect(write([entry({ retryAfterMs: 1500 })])).toEqual([['Retry-After', '2']]);
    }
  });

  it('writes nothing when nothing is limited', () => {
    expect(headerWriter()([])).toEqual([]);
  });

  it.each(['Draft', 'toString', '', 7, null])('refuses the style %p', (style) => {
    expect(() => headerWriter(style as never)).toThrow(InvalidLimitError);
    expect(() => headerWriter(['legacy', style] as never)).toThrow(
      `headers: ${JSON.stringify(style)} is no header style: use draft, legacy`,
    );
  });
});

describe('Retry-After', () => {
  it.each([
    [1, '1'],
    [999, '1'],
    [1000, '1'],
    [1001, '2'],
    [2000, '2'],
    [5000, '5'],
    [10_000, '10'],
    [60_000, '60'],
  ])('of a wait of %d ms is %s: up, but not from whole seconds (B07, B31)', (wait, expected) => {
    expect(written(draft, entry({ retryAfterMs: wait }))['Retry-After']).toBe(expected);
  });

  it('is the longest wait of the limits that refuse', () => {
    const headers = written(
      draft,
      entry({ name: 'a', retryAfterMs: 1000 }),
      entry({ name: 'b', retryAfterMs: 7001 }),
      entry({ name: 'c', resetAfterMs: 90_000 }),
    );
    expect(headers['Retry-After']).toBe('8');
    expect(headers.RateLimit).toBe('"a";r=0;t=1, "b";r=0;t=8, "c";r=0;t=90');
  });
});

describe('draft style', () => {
  it('writes the fields of draft-ietf-httpapi-ratelimit-headers-11', () => {
    const headers = written(
      draft,
      entry({ name: 'burst', capacity: 20, ratePerSecond: 2, retryAfterMs: 2100 }),
      entry({
        name: 'daily',
        capacity: 1000,
        ratePerSecond: 1000 / 86_400,
        remaining: 812,
        resetAfterMs: 16_243_200,
      }),
    );
    expect(headers).toEqual({
      'RateLimit-Policy': '"burst";q=20;w=10, "daily";q=1000;w=86400',
      RateLimit: '"burst";r=0;t=3, "daily";r=812;t=16244',
      'Retry-After': '3',
    });
  });

  it.each([
    ['fills in whole seconds', 20, 10, 'q=20;w=2'],
    ['window rounded up', 10, 3, 'q=10;w=4'],
    ['capacity rounded down', 2.5, 1, 'q=2;w=3'],
    ['fills within a second: the rate is more', 10, 100, 'q=100;w=1'],
    ['fills within a second: a broken rate', 1, 1.5, 'q=1;w=1'],
    ['fills within a second: the capacity is never less', 1.5, 1.6, 'q=1;w=1'],
    ['one token in an hour', 1, 1 / 3600, 'q=1;w=3600'],
    ['float dust above a whole number of seconds', 11, 11 / 60, 'q=11;w=60'],
    ['float dust below a whole rate', 1, (0.009 / 3) * 1000, 'q=3;w=1'],
    ['more than fifteen digits', 2 ** 53, 1e-9, 'q=999999999999999;w=999999999999999'],
  ])('%s: capacity %d, rate %d/s -> %s', (_, capacity, ratePerSecond, expected) => {
    expect(written(draft, entry({ capacity, ratePerSecond }))['RateLimit-Policy']).toBe(
      `"default";${expected}`,
    );
  });

  it('tells an allowed caller the time to full, at least 1', () => {
    expect(written(draft, entry({ remaining: 9, resetAfterMs: 1001 })).RateLimit).toBe(
      '"default";r=9;t=2',
    );
    expect(written(draft, entry({ remaining: 10, resetAfterMs: 0 })).RateLimit).toBe(
      '"default";r=10;t=1',
    );
  });

  it('tells what is left, not 0, when a cost above it is refused', () => {
    expect(written(draft, entry({ cost: 5, remaining: 3, retryAfterMs: 2000 })).RateLimit).toBe(
      '"default";r=3;t=2',
    );
  });

  it('names each policy once and keeps the strictest', () => {
    const strict = entry({ name: 'a', capacity: 5, retryAfterMs: 3000 });
    const mild = entry({ name: 'a', capacity: 100, remaining: 50 });
    const other = entry({ name: 'b', remaining: 4, resetAfterMs: 6000 });
    const expected = {
      'RateLimit-Policy': '"a";q=5;w=5, "b";q=10;w=10',
      RateLimit: '"a";r=0;t=3, "b";r=4;t=6',
      'Retry-After': '3',
    };
    expect(written(draft, strict, other, mild)).toEqual(expected);
    expect(written(draft, mild, other, strict)).toEqual(expected);
  });

  it('refuses a name that the header cannot carry', () => {
    expect(() => draft([entry({ name: 'a\r\nX: y' })])).toThrow(InvalidLimitError);
  });

  it('refuses numbers that are none instead of sending them', () => {
    expect(() => draft([entry({ remaining: NaN })])).toThrow(InvalidLimitError);
    expect(() => draft([entry({ ratePerSecond: 0 })])).toThrow(InvalidLimitError);
  });

  it('tells changed numbers of a policy, which come in a new object', () => {
    const before = entry({ capacity: 10 });
    const after = entry({ capacity: 20 });
    expect(written(draft, before)['RateLimit-Policy']).toBe('"default";q=10;w=10');
    expect(written(draft, after)['RateLimit-Policy']).toBe('"default";q=20;w=20');
    expect(written(draft, before)['RateLimit-Policy']).toBe('"default";q=10;w=10');
  });

  it('agrees with exact fractions on q and w', () => {
    const part = fc.bigInt({ min: 1n, max: 500n });
    const thousandths = fc.bigInt({ min: 1000n, max: 100_000n });
    fc.assert(
      fc.property(thousandths, part, part, (capacity, tokens, seconds) => {
        // capacity / 1000 tokens, tokens / seconds a second
        const w = (capacity * seconds + 1000n * tokens - 1n) / (1000n * tokens);
        const fillsWithinASecond = capacity * seconds < 1000n * tokens;
        const burst = capacity / 1000n;
        const rate = tokens / seconds;
        const q = fillsWithinASecond && rate > burst ? rate : burst;
        const { policy } = entry({
          capacity: Number(capacity) / 1000,
          ratePerSecond: Number(tokens) / Number(seconds),
        });
        expect(draftPolicyField([{ ...entry({}), policy }])).toBe(`"default";q=${q};w=${w}`);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('legacy style', () => {
  it('takes limit and remaining from one bucket (B49)', () => {
    const first = entry({
      capacity: 400,
      ratePerSecond: 200,
      remaining: 399,
      resetAfterMs: 5,
    });
    expect(legacy([first])).toEqual([
      ['X-RateLimit-Limit', '400'],
      ['X-RateLimit-Remaining', '399'],
      ['X-RateLimit-Reset', '1'],
    ]);
  });

  it('says 0 left on a denial, also when a smaller call would pass', () => {
    const headers = written(
      legacy,
      entry({ cost: 5, remaining: 3, retryAfterMs: 2000, resetAfterMs: 7000 }),
    );
    expect(headers).toEqual({
      'X-RateLimit-Limit': '10',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '7',
      'Retry-After': '2',
    });
  });

  it('resets in 0 seconds when the bucket is full', () => {
    const full = entry({ remaining: 10, resetAfterMs: 0 });
    expect(written(legacy, full)['X-RateLimit-Reset']).toBe('0');
  });

  it('never resets before Retry-After', () => {
    const soon = entry({ retryAfterMs: 1, resetAfterMs: 0 });
    expect(written(legacy, soon)['X-RateLimit-Reset']).toBe('1');
  });

  it.each([
    [
      'the smaller share left',
      [
        { remaining: 5, capacity: 10 },
        { remaining: 6, capacity: 20 },
      ],
      '20',
    ],
    [
      'the denial, although another has less',
      [
        { remaining: 0, capacity: 10 },
        { remaining: 8, capacity: 30, cost: 9, retryAfterMs: 9 },
      ],
      '30',
    ],
    [
      'the longest denial',
      [
        { capacity: 10, retryAfterMs: 8 },
        { capacity: 40, retryAfterMs: 9 },
      ],
      '40',
    ],
  ] as Array<[string, Case[], string]>)('tells of %s', (_, cases, expected) => {
    const entries = cases.map((one, index) => entry({ name: `p${index}`, ...one }));
    expect(written(legacy, ...entries)['X-RateLimit-Limit']).toBe(expected);
    expect(written(legacy, ...entries.toReversed())['X-RateLimit-Limit']).toBe(expected);
  });
});

describe('every header of random buckets', () => {
  const bucket = fc
    .record({
      name: fc.stringMatching(/^[a-z][a-z0-9_-]{0,20}$/),
      capacity: fc.oneof(
        fc.integer({ min: 1, max: 1e6 }),
        fc.double({ min: 1, max: 1e9, noNaN: true }),
      ),
      ratePerSecond: fc.double({ min: 1e-7, max: 1e9, noNaN: true }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      retryAfterMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1e12 })),
    })
    .map(({ share, ...rest }) =>
      entry({
        ...rest,
        remaining: Math.floor(rest.capacity * share),
        resetAfterMs: Math.ceil(((rest.capacity * (1 - share)) / rest.ratePerSecond) * 1000),
      }),
    );
  const buckets = fc.uniqueArray(bucket, {
    minLength: 1,
    maxLength: 5,
    selector: (one) => one.policy.name,
  });
  const numbers = (item: unknown) => Object.fromEntries((item as [string, Map<string, number>])[1]);

  const write = headerWriter();
  const parsed = (entries: LimitedDecision[]) => {
    const headers = written(write, ...entries);
    return {
      headers,
      policies: parseList(headers['RateLimit-Policy']),
      states: parseList(headers.RateLimit),
      legacy: ['Limit', 'Remaining', 'Reset'].map((name) => headers[`X-RateLimit-${name}`]),
    };
  };

  it('parses back: each name once, integers in range', () => {
    fc.assert(
      fc.property(buckets, (entries) => {
        const { policies, states, legacy: triple } = parsed(entries);
        const names = entries.map((one) => one.policy.name);
        expect(policies.map(([name]) => name)).toEqual(names);
        expect(states.map(([name]) => name)).toEqual(names);
        entries.forEach(({ decision }, index) => {
          const { q, w } = numbers(policies[index]);
          const { r, t } = numbers(states[index]);
          expect([q, w, r, t].every(Number.isInteger)).toBe(true);
          expect(w).toBeGreaterThanOrEqual(1);
          expect(t).toBeGreaterThanOrEqual(1);
          expect(r).toBe(decision.remaining);
          expect(r).toBeLessThanOrEqual(q);
        });
        expect(triple.join(' ')).toMatch(/^(0|[1-9]\d*) (0|[1-9]\d*) (0|[1-9]\d*)$/);
        expect(Number(triple[1])).toBeLessThanOrEqual(Number(triple[0]));
      }),
      { numRuns: 1000 },
    );
  });

  it('tells a refused caller one wait: Retry-After, the longest t of a refusal, not after Reset', () => {
    const refused = buckets.filter((entries) => entries.some((one) => !one.decision.allowed));
    fc.assert(
      fc.property(refused, (entries) => {
        const { headers, states, legacy: triple } = parsed(entries);
        const waits = states
          .filter((_, index) => !entries[index].decision.allowed)
          .map((state) => numbers(state).t);
        expect(headers['Retry-After']).toBe(String(Math.max(...waits)));
        expect(triple[1]).toBe('0');
        expect(Number(triple[2])).toBeGreaterThanOrEqual(Math.max(...waits));
      }),
      { numRuns: 1000 },
    );
  });

  it('has no Retry-After when nobody refuses', () => {
    fc.assert(
      fc.property(buckets, (entries) => {
        const allowed = entries.map((one) => ({
          ...one,
          decision: { ...one.decision, allowed: true, retryAfterMs: 0 },
        }));
        expect(parsed(allowed).headers).not.toHaveProperty('Retry-After');
      }),
    );
  });
});
