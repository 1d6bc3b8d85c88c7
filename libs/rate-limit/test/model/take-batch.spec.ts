// Calls that leave for Redis together are answered as if they had come one after another.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { AlgorithmName, Limit } from '../../src/core/limit';
import { MemoryStore } from '../../src/store/memory/memory-store';
import type { BucketCharge } from '../../src/store/rate-limit-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';
import { outcomeLine } from './oracle-store';
import { anyLimit, charge, costWithin, everydayLimit, parsed } from './subject';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

/** One of the calls that are made at one moment. */
interface Asked {
  /** Which buckets, as bits. */
  readonly who: number;
  readonly raw: number;
  readonly waits: boolean;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  who: fc.oneof(fc.constantFrom(1, 1, 2, 4), fc.integer({ min: 1, max: 15 })),
  raw: fc.oneof(fc.constant(1), fc.constant(1), fc.nat(1e9)),
  waits: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.boolean()),
});

const moment = fc.record({
  passes: fc.oneof(
    { weight: 4, arbitrary: fc.double({ min: 0, max: 0.6, noNaN: true }) },
    { weight: 1, arbitrary: fc.double({ min: -2, max: 2, noNaN: true }) },
  ),
  calls: fc.array(asked, { minLength: 1, maxLength: 14 }),
});

const window = fc
  .tuple(
    fc.constantFrom<AlgorithmName>('sliding-window', 'fixed-window', 'leaky-bucket'),
    fc.integer({ min: 1, max: 20 }),
  )
  .map(([algorithm, rate]) => parsed({ algorithm, rate } as Limit));

const history = fc.record({
  limits: fc.array(fc.oneof(everydayLimit, anyLimit, window), { minLength: 4, maxLength: 4 }),
  moments: fc.array(moment, { minLength: 6, maxLength: 8, size: 'max' }),
});

const numbers = ({ limit: { n, q, capacity, fingerprint } }: BucketCharge) =>
  [n, q, capacity, fingerprint].join();

/** The order in which calls are made: those that differ by their bucket alone stand together. */
function inOrder(calls: readonly (readonly BucketCharge[])[]): number[] {
  const shapes = new Map<string, Map<string, number[]>>();
  calls.forEach((call, i) => {
    const shape = call.map((c) => [numbers(c), c.price, c.maxWaitUs].join()).join(';');
    const run = call.length === 1 ? call[0].bucket : `several ${i}`;
    const runs = shapes.get(shape) ?? new Map<string, number[]>();
    shapes.set(shape, runs.set(run, [...(runs.get(run) ?? []), i]));
  });
  return [...shapes.values()].flatMap((runs) => [...runs.values()].flat());
}

it('says what the same calls are told one after another', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(history, async ({ limits, moments }) => {
      const clock = new FakeClock();
      const prefix = uniquePrefix();
      const memory = new MemoryStore({ clock });
      const shared = redisStoreOn(clock, redis);
      const fillMs = Math.max(...limits.map(({ capacity, n }) => Math.ceil(capacity / n / 1000)));
      for (const { passes, calls } of moments) {
        const moveMs = Math.floor(passes * Math.min(fillMs, 1e11) * 8) / 8;
        clock.set(Math.max(1, clock.nowMs() + moveMs));
        const made = calls.map(({ who, raw, waits }) =>
          [1, 2, 4, 8].flatMap((bit, i) => {
            if ((who & bit) === 0) return [];
            const limit = limits[i];
            const patienceUs = waits ? Math.ceil(limit.capacity / limit.n) : 0;
            return [charge(limit, costWithin(limit, raw), `${prefix}${bit}`, patienceUs)];
          }),
        );
        const ofRedis = (await Promise.all(made.map((call) => shared.take(call)))).map((taken) =>
          taken.map(outcomeLine),
        );
        const ofMemory: string[][] = [];
        for (const i of inOrder(made)) ofMemory[i] = memory.take(made[i]).map(outcomeLine);
        expect(ofRedis).toEqual(ofMemory);
        for (const taken of ofRedis) seen.add(`${taken.length > 1} ${taken[0].slice(0, 12)}`);
      }
    }),
    { numRuns: 500 },
  );
  expect(seen.size).toBeGreaterThan(3);
}, 180_000);
