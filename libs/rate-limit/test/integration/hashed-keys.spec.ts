// hashKeys: who reads Redis' keys learns nobody's name, whichever part of the library wrote them. What a job is about is
// its data, and that is the application's.
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { RateLimiterService, RateLimitModule, type RateLimitModuleOptions } from 'nest-rate-limit';
import { RateLimitedQueue, RateLimitQueueModule } from 'nest-rate-limit/queue';
import { getRateLimitedQueueToken } from 'nest-rate-limit/queue';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

const NAME = 'ada@example.org';
const admin = new Redis(sharedRedisUrl());
afterAll(() => admin.quit());

async function keysAfter(hashKeys: RateLimitModuleOptions['hashKeys']): Promise<string[]> {
  const keyPrefix = uniquePrefix();
  const queues = ['own', 'vendors'].map((name) => `${name}-${keyPrefix.replaceAll(':', '-')}`);
  const numbers = { rate: 0.001, capacity: 1 };
  const module = await Test.createTestingModule({
    imports: [
      RateLimitModule.forRoot({
        redis: sharedRedisUrl(),
        keyPrefix,
        hashKeys,
        policies: { vendor: numbers },
      }),
      RateLimitQueueModule.register({ name: queues[0], ...numbers, submitOnly: true }),
      RateLimitQueueModule.register({ name: queues[1], policy: 'vendor', submitOnly: true }),
    ],
  }).compile();
  const app = module.createNestApplication({ logger: false });
  await app.init();
  const limiter = app.get(RateLimiterService);
  await limiter.consume(NAME, numbers);
  await limiter.configure(NAME, { rate: 2, capacity: 4 }, { ttlMs: 60_000 });
  await limiter.block(NAME, { name: 'login', ...numbers }, 60_000);
  const held = limiter.withConcurrency(NAME, { max: 1 }, async () => {
    for (const name of queues) {
      const queue = app.get<RateLimitedQueue<object>>(getRateLimitedQueueToken(name));
      await queue.submit({}, { key: NAME, idempotencyKey: NAME });
      await queue.pauseKey(NAME, 60_000);
    }
    const names = await admin.keys(`${keyPrefix}*`);
    const lanes = names.filter((each) => each.endsWith(':lanes'));
    const fields = await Promise.all(lanes.map((each) => admin.hkeys(each)));
    return [...names, ...fields.flat()];
  });
  const keys = await held;
  await app.close();
  return keys;
}

it('readable keys name the caller, for those who look for him', async () => {
  const keys = await keysAfter(false);
  expect(keys.filter((key) => key.includes(NAME)).length).toBeGreaterThan(4);
  // Only a digest chooses the slot.
  expect(keys.filter((key) => /\{[^}]*ada/.test(key))).toEqual([]);
});

it.each([true, { secret: 's3cret' }])('hashKeys %p names nobody', async (hashKeys) => {
  const keys = await keysAfter(hashKeys);
  expect(keys.length).toBeGreaterThan(6);
  expect(keys.filter((key) => key.includes('ada'))).toEqual([]);
});
