// A line of callers that wait for one bucket on a real Redis loses next to nothing of the rate.
import { Redis } from 'ioredis';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from '../support/limiter';
import { noteFigures } from '../support/queue-figures';
import { RedisServer } from '../support/redis-server';

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await RedisServer.start();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

// A capacity of some tens of ms: what a stall of the process or of the machine holds up is caught up with.
it.each([
  [100, 10],
  [200, 20],
])(
  '1000 waiters at %d a second, capacity %d: within 2 % of the ideal time',
  async (rate, capacity) => {
    const limiter = limiterOver(new RedisStore(redis), { timeoutMs: 20_000 });
    const limit = { name: 'line', rate, capacity };
    const key = `${rate} ${capacity}`;
    const crowd = (whose: string, numbers: typeof limit) =>
      Promise.all(Array.from({ length: 1000 }, () => limiter.acquire(whose, numbers)));
    // While a process that does it for the first time lines a thousand up, the bucket runs over.
    await crowd('warm up', { name: 'warm', rate: 1e6, capacity: 1000 });
    const startMs = performance.now();
    await crowd(key, limit);
    const tookMs = performance.now() - startMs;
    const idealMs = ((1000 - capacity) / rate) * 1000;
    noteFigures(`acquire: ${expect.getState().currentTestName}`, { idealMs, tookMs });
    expect(tookMs).toBeGreaterThanOrEqual(idealMs);
    expect(tookMs).toBeLessThanOrEqual(idealMs * 1.02);
  },
  60_000,
);
