import { Redis } from 'ioredis';
import { redisStoreOn, storeContract } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl(), { keyPrefix: uniquePrefix() });
});
afterAll(() => redis.disconnect());

storeContract('redis', (clock) => redisStoreOn(clock, redis));
