import fc from 'fast-check';
import { strictest, type Decision } from './decision';

function decision(some: Partial<Decision>): Decision {
  return {
    allowed: true,
    policy: 'default',
    key: 'k',
    cost: 1,
    limit: 10,
    remaining: 5,
    retryAfterMs: 0,
    resetAfterMs: 0,
    source: 'memory',
    degraded: false,
    ...some,
  };
}

const allowed = fc.record({
  allowed: fc.constant(true),
  limit: fc.integer({ min: 1, max: 2 ** 31 }),
  remaining: fc.nat(2 ** 31),
});
const denied = fc.record({
  allowed: fc.constant(false),
  limit: fc.integer({ min: 1, max: 20 }),
  remaining: fc.nat(20),
  retryAfterMs: fc.integer({ min: 1, max: 4 }),
});
const some = fc.oneof(allowed, denied).map(decision);

describe('strictest', () => {
  it('puts a denial before an allowance, on either side', () => {
    const no = decision({ allowed: false, retryAfterMs: 1 });
    const yes = decision({ remaining: 0 });
    expect(strictest(no, yes)).toBe(no);
    expect(strictest(yes, no)).toBe(no);
  });

  it('among denials takes the longer wait', () => {
    const short = decision({ allowed: false, retryAfterMs: 10, remaining: 0 });
    const long = decision({ allowed: false, retryAfterMs: 11, remaining: 3 });
    expect(strictest(short, long)).toBe(long);
    expect(strictest(long, short)).toBe(long);
  });

  it('among allowances takes the smaller share left, not the smaller number', () => {
    const fewOfFew = decision({ limit: 4, remaining: 3 });
    const manyOfMore = decision({ limit: 1000, remaining: 100 });
    expect(strictest(fewOfFew, manyOfMore)).toBe(manyOfMore);
    expect(strictest(manyOfMore, fewOfFew)).toBe(manyOfMore);
  });

  it('keeps the first of two that are equally strict', () => {
    const first = decision({ limit: 10, remaining: 5, policy: 'a' });
    expect(strictest(first, decision({ limit: 100, remaining: 50, policy: 'b' }))).toBe(first);
    const refused = decision({ allowed: false, retryAfterMs: 7, policy: 'a' });
    expect(strictest(refused, { ...refused, policy: 'b' })).toBe(refused);
  });

  it('gives the same strictness in whatever order many are compared', () => {
    const rank = ({ allowed, retryAfterMs, remaining, limit }: Decision) => [
      allowed,
      allowed ? 0 : retryAfterMs,
      remaining / limit,
    ];
    fc.assert(
      fc.property(fc.array(some, { minLength: 1, maxLength: 6 }), (all) => {
        const forward = all.reduce(strictest);
        const backward = [...all].reverse().reduce(strictest);
        expect(rank(forward)).toEqual(rank(backward));
        expect(forward.allowed).toBe(all.every((each) => each.allowed));
        expect(forward.retryAfterMs).toBe(Math.max(...all.map((each) => each.retryAfterMs)));
      }),
    );
  });
});
