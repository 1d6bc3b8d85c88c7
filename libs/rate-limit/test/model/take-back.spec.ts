// What a cluster call took in one slot is taken back when another refuses, a round trip later: the script, on a clock.
import { Redis } from 'ioredis';
import { usFromMs } from '../../src/core/duration';
import { parseLimit, type Limit } from '../../src/core/limit';
import { RedisBuckets } from '../../src/store/redis/redis-buckets';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

function subject(limit: Limit) {
  const clock = new FakeClock();
  const parsed = parseLimit(limit, 'test');
  const bucket = uniquePrefix();
  const store = redisStoreOn(clock, redis);
  const buckets = new RedisBuckets(redis, () => usFromMs(clock.nowMs()));
  const charge = (tokens: number, maxWaitUs = 0) => ({
    bucket,
    place: 'p',
    limit: parsed,
    price: tokens * 1000 * parsed.q,
    maxWaitUs,
  });
  return {
    clock,
    take: async (tokens: number, maxWaitMs = 0) => {
      const grant = charge(tokens, maxWaitMs * 1000);
      const [{ granted, waitUs }] = await store.take([grant]);
      expect(granted).toBe(true);
      const grantedForUs = usFromMs(clock.nowMs()) + waitUs;
      return { waitUs, takeBack: () => buckets.takeBack([{ ...grant, grantedForUs }]) };
    },
    left: async () => (await store.peek([charge(0.001)]))[0].held / (parsed.q * 1000),
  };
}

it('a token bucket: what was taken, and not what came since', async () => {
  const { clock, take, left } = subject({ rate: 1, capacity: 10 });
  await take(6);
  const grant = await take(3);
  clock.advance(500);
  await grant.takeBack();
  expect(await left()).toBe(4.5);
});

it('a token bucket: nobody who was promised a later moment is overtaken', async () => {
  const { take, left } = subject({ rate: 1, capacity: 2 });
  const grant = await take(2);
  expect((await take(1, 5000)).waitUs).toBe(1e6);
  await grant.takeBack();
  // Two were taken, and one of them was promised on.
  expect(await left()).toBe(0);
});

it('a leaky bucket: its place is free again, although its moment is past', async () => {
  const { clock, take, left } = subject({ rate: 1, capacity: 3, algorithm: 'leaky-bucket' });
  const grant = await take(1);
  clock.advance(2);
  await grant.takeBack();
  expect(await left()).toBe(3);
  expect((await take(1)).waitUs).toBe(0);
});

it('a leaky bucket: whoever stands behind keeps the pace', async () => {
  const { clock, take } = subject({ rate: 1, capacity: 3, algorithm: 'leaky-bucket' });
  const grant = await take(1);
  expect((await take(1, 5000)).waitUs).toBe(1e6);
  clock.advance(2);
  await grant.takeBack();
  expect((await take(1, 5000)).waitUs).toBe(2e6 - 2000);
});

it('a fixed window: a new one has nothing of it', async () => {
  const { clock, take, left } = subject({ rate: 5, per: 1000, algorithm: 'fixed-window' });
  clock.advance(999);
  const grant = await take(2);
  clock.advance(1);
  await take(4);
  await grant.takeBack();
  expect(await left()).toBe(1);
});

it('a sliding window: it is returned to the window that it was taken from', async () => {
  const { clock, take, left } = subject({ rate: 6, per: 1000, algorithm: 'sliding-window' });
  clock.advance(999);
  await take(2);
  const grant = await take(4);
  clock.advance(501);
  await take(1);
  expect(await left()).toBe(5 - 3);
  await grant.takeBack();
  expect(await left()).toBe(5 - 1);
  clock.advance(5000);
  await grant.takeBack();
  expect(await left()).toBe(6);
});
