// Keys that somebody else wrote where a bucket should be: an error that says so, and what is theirs stays.
import { Redis } from 'ioredis';
import { StoreConfigurationError } from 'nest-rate-limit';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from '../support/limiter';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

const LIMIT = { rate: 0.001, capacity: 5 };

let redis: Redis;
let limiter: RateLimiter;
let key: string;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
beforeEach(async () => {
  const keyPrefix = uniquePrefix();
  limiter = limiterOver(new RedisStore(redis), { keyPrefix });
  await limiter.consume('k', LIMIT);
  [key] = await redis.keys(`${keyPrefix}*`);
  await redis.del(key);
  await redis.hset(key, 'theirs', 1);
});
afterAll(() => redis.disconnect());

it.each<[what: string, call: () => Promise<unknown>]>([
  ['consume', () => limiter.consume('k', LIMIT)],
  [
    'calls that leave together',
    () => Promise.all([1, 2, 3].map(() => limiter.consume('k', LIMIT))),
  ],
  ['reserve', () => limiter.reserve('k', LIMIT)],
  ['penalize', () => limiter.penalize('k', LIMIT, 1)],
])('%s says WRONGTYPE', async (_, call) => {
  const thrown = await call().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(StoreConfigurationError);
  expect((thrown as Error).message).toContain('WRONGTYPE');
  expect(await redis.hgetall(key)).toEqual({ theirs: '1' });
});

it('a refund finds no bucket there', async () => {
  await limiter.refund('k', LIMIT, 1);
  expect(await redis.hgetall(key)).toEqual({ theirs: '1' });
});
