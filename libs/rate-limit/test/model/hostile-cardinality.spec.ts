// Callers that nobody has seen before, by the hundred thousand: memory stays flat, nobody gets a drained bucket back, and
// who was known keeps his own. `npm run bench:memory` is the same with ten million.
import { FakeClock } from '../../src/testing';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { FakeShared, GONE } from '../support/fake-shared-store';
import { heapMb } from '../support/heap';
import { limiterOver } from '../support/limiter';

jest.setTimeout(60_000);

const MAX_BUCKETS = 10_000;
const CALLERS = 200_000;
// Frozen: a limit that cannot change is parsed once.
const LIMIT = Object.freeze({ rate: 20, per: 'day', capacity: 20 } as const);
const OTHER = { ...LIMIT, name: 'other' };

const subjects: ReadonlyArray<readonly [string, () => Promise<RateLimiter>]> = [
  [
    'the memory store',
    async () => {
      return limiterOver(new MemoryStore({ maxBuckets: MAX_BUCKETS }));
    },
  ],
  [
    'the local buckets of an outage',
    async () => {
      const shared = new FakeShared(new FakeClock());
      const limiter = limiterOver(shared, { maxBuckets: MAX_BUCKETS });
      shared.state = GONE;
      return limiter;
    },
  ],
];

describe.each(subjects)('%s', (_, make) => {
  let limiter: RateLimiter;
  beforeEach(async () => (limiter = await make()));
  afterEach(() => limiter.close());

  async function flood(from: number, to: number): Promise<number> {
    let passed = 0;
    for (let i = from; i < to; i++) {
      const { allowed } = await limiter.consume(`made up ${i}`, LIMIT);
      if (allowed) passed++;
    }
    return passed;
  }

  it('stays flat, and lets only the first of the flood through', async () => {
    expect(await flood(0, MAX_BUCKETS)).toBe(MAX_BUCKETS);
    // All others share a bucket.
    expect(await flood(MAX_BUCKETS, 50_000)).toBe(LIMIT.capacity);
    const before = await heapMb();
    expect(await flood(50_000, CALLERS)).toBe(0);
    expect((await heapMb()) - before).toBeLessThan(3);
  });

  it('gives nobody a drained bucket back, and leaves those who were known theirs', async () => {
    for (let i = 0; i < 20; i++)
      expect((await limiter.consume('drained', LIMIT)).allowed).toBe(true);
    await limiter.consume('honest', LIMIT);
    await flood(0, 2 * MAX_BUCKETS);
    expect((await limiter.consume('drained', LIMIT)).allowed).toBe(false);
    expect(await limiter.consume('honest', LIMIT)).toMatchObject({ allowed: true, remaining: 18 });
    // The shared bucket is the policy's: those of others are not touched.
    expect((await limiter.consume('somebody new', LIMIT)).allowed).toBe(false);
    expect((await limiter.consume('somebody new', OTHER)).allowed).toBe(true);
  });
});
