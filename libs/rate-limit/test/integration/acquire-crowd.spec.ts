// A thousand callers that wait for one bucket on a real Redis: one script call each, in order, never ahead of the pace.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from '../support/limiter';
import { commandCounts, forgetCommands } from '../support/redis-commands';
import { RedisServer } from '../support/redis-server';

const LIMIT = { name: 'crowd', rate: 1000, capacity: 20 };
const WAITERS = 1000;

let server: RedisServer;
let redis: Redis;
let limiter: RateLimiter;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());
beforeEach(async () => {
  redis = new Redis(server.url);
  // Who waits for a machine that is busy with others is not to fail for it.
  limiter = limiterOver(new RedisStore(redis), { timeoutMs: 20_000 });
  await redis.flushall();
  await limiter.acquire('warm up', LIMIT);
  await forgetCommands(redis);
});
afterEach(() => redis.disconnect());

const scriptCalls = async () => (await commandCounts(redis)).evalsha;

/** Whose turn came, in the order in which it did, and what became of the others. */
function crowd(signals: readonly (AbortSignal | undefined)[]) {
  const served: number[] = [];
  const refused: unknown[] = [];
  const all = signals.map((signal, i) =>
    limiter.acquire('k', LIMIT, { signal }).then(
      () => served.push(i),
      (reason: unknown) => refused.push(reason),
    ),
  );
  return { served, refused, all: Promise.all(all) };
}

it('1000 waiters: in order, at the pace, one script call each', async () => {
  const startMs = performance.now();
  const { served, refused, all } = crowd(Array.from({ length: WAITERS }));
  await all;
  const tookMs = performance.now() - startMs;
  expect(refused).toEqual([]);
  expect(served).toEqual(Array.from({ length: WAITERS }, (_, i) => i));
  expect(tookMs).toBeGreaterThanOrEqual(((WAITERS - LIMIT.capacity) / LIMIT.rate) * 1000);
  expect(await scriptCalls()).toBe(WAITERS);
}, 60_000);

it('500 of them aborted: the others move up, one call each, and two for a head that had asked', async () => {
  const controllers = Array.from({ length: WAITERS }, () => new AbortController());
  const { served, refused, all } = crowd(controllers.map(({ signal }) => signal));
  // Some have had their turn, and one has asked for it.
  await delay(100);
  const reason = new Error('gone');
  controllers.forEach((controller, i) => i % 2 === 1 && controller.abort(reason));
  await all;
  const odd = served.filter((i) => i % 2 === 1);
  expect(served).toEqual(served.toSorted((a, b) => a - b));
  expect(served.filter((i) => i % 2 === 0)).toHaveLength(WAITERS / 2);
  expect(refused).toEqual(Array.from({ length: WAITERS / 2 - odd.length }, () => reason));
  const calls = await scriptCalls();
  expect(calls).toBeGreaterThanOrEqual(served.length);
  expect(calls).toBeLessThanOrEqual(served.length + 2);
}, 60_000);
