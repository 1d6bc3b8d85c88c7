// Giving back through the stores that ship, against the oracle: the memory store, and the script through the Redis
// store. Grants of one bucket for now and for later, given back in any order, under one limit.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { UnusedGrant } from '../../src/store/rate-limit-store';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { RedisStore } from '../../src/store/redis/redis-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';
import { full, giveBack, levelAt, oracleLimit, take } from './oracle';
import { credits } from './oracle-history';
import { ratio, times } from './ratio';
import { charge, costWithin, everydayLimit } from './subject';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

const part = fc.oneof(
  fc.constant(0),
  fc.nat(16).map((sixteenths) => sixteenths / 16),
);
const steps = fc.array(
  // `passes` and `patience` are parts of the time in which the bucket fills.
  fc.record({ returns: fc.boolean(), passes: part, raw: fc.nat(1e9), patience: part }),
  { minLength: 20, maxLength: 30, size: 'max' },
);

it('the memory store, the Redis script and the oracle give back the same', async () => {
  let later = 0;
  await fc.assert(
    fc.asyncProperty(everydayLimit, steps, async (limit, history) => {
      const clock = new FakeClock();
      const bucket = uniquePrefix();
      const memory = new MemoryStore({ clock });
      const shared = redisStoreOn(clock, redis);
      const limits = oracleLimit(limit.n, limit.q, limit.capacity);
      const now = () => BigInt(clock.nowMs() * 1000);
      let held = full(limits, now());
      const fillMs = Math.ceil(limit.capacity / limit.n / 1000);
      const grants: UnusedGrant[] = [];
      const starts: (number | undefined)[][] = [];
      for (const { returns, passes, raw, patience } of history) {
        clock.advance(Math.floor((passes / 8) * fillMs));
        held = levelAt(held, limits, now());
        if (returns && grants.length > 0) {
          const [grant] = grants.splice(raw % grants.length, 1);
          const price = times(ratio(grant.price), limits.unit);
          held = giveBack(held, limits, price, BigInt(grant.startsAtUs));
          memory.giveBack([grant]);
          await shared.giveBack([grant]);
        } else {
          const one = charge(
            limit,
            costWithin(limit, raw % 2 === 0 ? 0 : raw),
            bucket,
            Math.floor(3 * patience * fillMs) * 1000 + 1,
          );
          const said = take(
            held,
            limits,
            times(ratio(one.price), limits.unit),
            BigInt(one.maxWaitUs),
            now(),
          );
          held = said.after;
          const [ofMemory] = memory.take([one]);
          const [ofRedis] = await shared.take([one]);
          const startsAtUs = said.granted ? Number(now() + said.wait) : undefined;
          starts.push([ofMemory.startsAtUs, ofRedis.startsAtUs, startsAtUs]);
          if (startsAtUs !== undefined) grants.push({ ...one, startsAtUs });
          if (said.granted && said.wait > 0n) later++;
        }
        const look = charge(limit, 0.001, bucket);
        const levels = [memory.peek([look])[0].held, (await shared.peek([look]))[0].held];
        const level = Number(credits(held, limit.q));
        expect(levels).toEqual([level, level]);
      }
      for (const [ofMemory, ofRedis, right] of starts) {
        expect([ofMemory, ofRedis]).toEqual([right, right]);
      }
    }),
    { numRuns: 500 },
  );
  expect(later).toBeGreaterThan(1000);
}, 60_000);

it('an emptied bucket is full again, and gone from Redis, when all of it came back', async () => {
  const store = new RedisStore(redis);
  const bucket = uniquePrefix();
  const [limit] = fc.sample(everydayLimit, 1);
  const all = { ...charge(limit, limit.capacityTokens, bucket, 1), price: limit.capacity };
  const [{ startsAtUs = 0 }] = await store.take([all]);
  expect(await redis.exists(bucket)).toBe(1);
  await store.giveBack([{ ...all, startsAtUs }]);
  expect(await redis.exists(bucket)).toBe(0);
});
