import { Redis } from 'ioredis';
import { RedisStore } from '../../src/store/redis/redis-store';
import { storeContract } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl(), { keyPrefix: uniquePrefix() });
});
afterAll(() => redis.disconnect());

storeContract('redis', (clock) => new RedisStore(redis, { nowMs: () => clock.nowMs() }));
