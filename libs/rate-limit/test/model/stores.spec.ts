// What ships, against the oracle: the memory store, and the take and peek scripts through the Redis store.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { ParsedLimit } from '../../src/core/limit';
import type { BucketCharge, Peeked } from '../../src/store/rate-limit-store';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';
import { OracleStore, outcomeLine } from './oracle-store';
import { anyLimit, charge, costWithin, everydayLimit, retryAfterMs } from './subject';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

interface Step {
  readonly what: 'take' | 'peek' | 'reset';
  /** Parts of the time to full that pass; negative: the clock goes back. */
  readonly passes: number;
  /** Which buckets, as bits. */
  readonly who: number;
  readonly limit: number;
  readonly raw: number;
  readonly patience: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.constantFrom('take', 'take', 'take', 'take', 'take', 'peek', 'peek', 'reset'),
  passes: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.double({ min: 0, max: 0.3, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: -2, max: 2, noNaN: true }) },
  ),
  who: fc.integer({ min: 1, max: 7 }),
  limit: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(2)),
  raw: fc.nat(1e9),
  patience: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    fc.double({ min: 0, max: 1, noNaN: true }),
  ),
});

const history = fc.record({
  limits: fc.array(fc.oneof(everydayLimit, anyLimit), { minLength: 3, maxLength: 3 }),
  steps: fc.array(step, { minLength: 20, maxLength: 25, size: 'max' }),
});

function fillMs({ capacity, n }: ParsedLimit): number {
  return Math.ceil(capacity / n / 1000);
}

function peekedLine(peeked: Peeked): string {
  return `${outcomeLine(peeked)}, held ${BigInt(peeked.held)}, known ${peeked.known}`;
}

it('the memory store, the Redis scripts and the oracle give the same answers', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(history, async ({ limits, steps }) => {
      const clock = new FakeClock();
      const prefix = uniquePrefix();
      const memory = new MemoryStore({ clock });
      const shared = redisStoreOn(clock, redis);
      const oracle = new OracleStore();
      const reset = async (buckets: readonly string[]) => {
        oracle.reset(buckets);
        memory.reset(buckets);
        await shared.reset(buckets);
      };
      for (const { what, passes, who, limit: which, raw, patience } of steps) {
        const moveMs = Math.floor(passes * Math.min(fillMs(limits[which]), 1e11) * 8) / 8;
        clock.set(Math.max(1, clock.nowMs() + moveMs));
        const nowUs = clock.nowMs() * 1000;
        // A full bucket may be forgotten or not: the same, until a limit grows. Here all stores forget it at once.
        const full = oracle.fullBuckets(nowUs);
        if (full.length > 0) await reset(full);
        const charges: BucketCharge[] = [1, 2, 4].flatMap((bit) => {
          if ((who & bit) === 0) return [];
          const limit = limits[(which + (bit >> 1)) % 3];
          const maxWaitUs = Math.floor(patience * 2 * fillMs(limit) * 1000);
          return [charge(limit, costWithin(limit, raw + bit), `${prefix}${bit}`, maxWaitUs)];
        });
        let answers: string[][];
        if (what === 'take') {
          const taken = await shared.take(charges);
          answers = [
            taken.map(outcomeLine),
            memory.take(charges).map(outcomeLine),
            oracle.take(charges, nowUs),
          ];
          for (const { granted, waitUs } of taken) seen.add(`${granted} ${waitUs > 0}`);
        } else if (what === 'peek') {
          const peeked = await shared.peek(charges);
          answers = [
            peeked.map(peekedLine),
            memory.peek(charges).map(peekedLine),
            oracle.peek(charges, nowUs),
          ];
        } else {
          await reset(charges.map(({ bucket }) => bucket));
          continue;
        }
        const [ofRedis, ofMemory, ofOracle] = answers;
        expect({ ofMemory, ofRedis }).toEqual({ ofMemory: ofOracle, ofRedis: ofOracle });
      }
    }),
    { numRuns: 2000 },
  );
  expect([...seen].sort()).toEqual(['false true', 'true false', 'true true']);
}, 180_000);

it('Redis keeps its promise: denied with r ms, denied at r − 1 and allowed at r', async () => {
  const clock = new FakeClock();
  const store = redisStoreOn(clock, redis);
  await fc.assert(
    fc.asyncProperty(anyLimit, fc.nat(1e9), async (limit, raw) => {
      const bucket = uniquePrefix();
      const all = charge(limit, 1, bucket);
      await store.take([{ ...all, price: Math.floor(limit.capacity / limit.q) * limit.q }]);
      const one = charge(limit, costWithin(limit, raw), bucket);
      const [refused] = await store.take([one]);
      const start = clock.nowMs();
      const r = retryAfterMs(refused);
      clock.set(start + r - 1);
      const [early] = await store.take([one]);
      clock.set(start + r);
      const [onTime] = await store.take([one]);
      clock.set(start);
      expect([refused, early, onTime].map(({ granted }) => granted)).toEqual([false, false, true]);
    }),
    { numRuns: 2000 },
  );
}, 180_000);
