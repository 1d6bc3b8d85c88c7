// Redis stops, dies, fills up or was never there: every call is answered in time, and limits are shared again soon
// after. On servers of its own.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailableError } from '../../src/core/errors';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { openRedis, type OwnRedis } from '../../src/store/redis/redis-client';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver, type LimiterSetup } from '../support/limiter';
import { freePort, RedisServer } from '../support/redis-server';

const TIMEOUT_MS = 250;
/** Timers and a busy machine. */
const MARGIN_MS = 350;
const LIMIT = { rate: 0.001, capacity: 100 };
const FAILURES = ['local', 'open', 'closed'] as const;

const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

let opened: { client: OwnRedis; limiter: RateLimiter }[] = [];
let servers: RedisServer[] = [];

beforeAll(() => process.on('unhandledRejection', note));
afterAll(() => process.off('unhandledRejection', note));
afterEach(async () => {
  await Promise.all(opened.map(({ limiter }) => limiter.close()));
  await Promise.all(servers.map((server) => server.stop()));
  [opened, servers] = [[], []];
});

async function server(...args: string[]): Promise<RedisServer> {
  const started = await RedisServer.start(...args);
  servers.push(started);
  return started;
}

async function limiterOn(url: string, setup: LimiterSetup = {}): Promise<RateLimiter> {
  const client = openRedis(url);
  const store = new RedisStore(client, {
    giveUpAfterMs: TIMEOUT_MS,
    close: () => client.close(),
  });
  const limiter = limiterOver(store, { timeoutMs: TIMEOUT_MS, ...setup });
  opened.push({ client, limiter });
  await client.connected(500);
  return limiter;
}

/** How a call ended, and how long it took. */
async function timed(limiter: RateLimiter) {
  const startedAt = performance.now();
  const outcome = await limiter.consume('k', LIMIT).catch((error: unknown) => error);
  return { outcome, tookMs: performance.now() - startedAt };
}

async function backWithin(limiter: RateLimiter, ms: number): Promise<void> {
  const until = performance.now() + ms;
  for (;;) {
    const { outcome } = await timed(limiter);
    if ((outcome as { source?: string }).source === 'shared') return;
    if (performance.now() > until) throw new Error(`not shared again within ${ms} ms`);
    await delay(50);
  }
}

/** What every call is to end like while Redis is out. */
const WITHOUT_REDIS = {
  local: { allowed: true, source: 'local', degraded: true },
  open: { allowed: true, source: 'local', degraded: true },
  closed: { name: StoreUnavailableError.name, httpStatus: 503 },
};

function expectAnswer(outcome: unknown, mode: (typeof FAILURES)[number]): void {
  expect(outcome).toMatchObject(WITHOUT_REDIS[mode]);
}

describe.each(FAILURES)('with onStoreFailure %s', (onStoreFailure) => {
  it('answers within the deadline while Redis is stopped, and shares again after', async () => {
    const redis = await server();
    const limiter = await limiterOn(redis.url, { onStoreFailure });
    await backWithin(limiter, 1000);
    redis.pause();
    for (let i = 0; i < 6; i++) {
      const { outcome, tookMs } = await timed(limiter);
      expectAnswer(outcome, onStoreFailure);
      expect(tookMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
    }
    redis.resume();
    await backWithin(limiter, 5000);
  }, 20_000);

  it('answers at once when Redis is killed, and shares again after its restart', async () => {
    const redis = await server();
    const limiter = await limiterOn(redis.url, { onStoreFailure });
    await backWithin(limiter, 1000);
    await redis.kill();
    for (let i = 0; i < 6; i++) {
      const { outcome, tookMs } = await timed(limiter);
      expectAnswer(outcome, onStoreFailure);
      expect(tookMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
    }
    await redis.restart();
    await backWithin(limiter, 5000);
  }, 20_000);

  it('answers in time where there never was a Redis', async () => {
    const limiter = await limiterOn(`redis://127.0.0.1:${await freePort()}`, { onStoreFailure });
    for (let i = 0; i < 6; i++) {
      const { outcome, tookMs } = await timed(limiter);
      expectAnswer(outcome, onStoreFailure);
      expect(tookMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
    }
  }, 20_000);
});

it('charges nothing later for what was answered without Redis (B15)', async () => {
  const redis = await server();
  const limiter = await limiterOn(redis.url);
  // One call, so that the clock of the server is known.
  await limiter.consume('warm', LIMIT);
  redis.pause();
  await Promise.all(Array.from({ length: 50 }, () => limiter.consume('k', LIMIT)));
  redis.resume();
  await delay(2000);
  const fresh = await limiterOn(redis.url);
  expect(await fresh.getInfo('k', LIMIT)).toBeNull();
}, 20_000);

it('loses or doubles at most one token a cut of the connection, 20 times', async () => {
  const redis = await server();
  const limiter = await limiterOn(redis.url);
  const admin = new Redis(redis.url);
  let allowedByRedis = 0;
  for (let cut = 0; cut < 20; cut++) {
    await backWithin(limiter, 5000);
    allowedByRedis++;
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const call = await limiter.consume('k', LIMIT);
    if (call.source === 'shared') allowedByRedis++;
  }
  await backWithin(limiter, 5000);
  const info = await limiter.getInfo('k', LIMIT);
  const spent = LIMIT.capacity - (info?.available ?? LIMIT.capacity);
  expect(Math.abs(spent - (allowedByRedis + 1))).toBeLessThanOrEqual(20);
  admin.disconnect();
}, 60_000);

it('follows the policy while Redis is full, and shares again when it is not', async () => {
  const redis = await server('--maxmemory', '3mb', '--maxmemory-policy', 'noeviction');
  const admin = new Redis(redis.url);
  const limiter = await limiterOn(redis.url);
  await backWithin(limiter, 1000);
  await admin.config('SET', 'maxmemory', '1');
  const { outcome } = await timed(limiter);
  expectAnswer(outcome, 'local');
  await admin.config('SET', 'maxmemory', '0');
  await backWithin(limiter, 5000);
  admin.disconnect();
}, 20_000);

it('takes a replica for an outage, and comes back when it is none', async () => {
  const redis = await server();
  const admin = new Redis(redis.url);
  const limiter = await limiterOn(redis.url);
  await backWithin(limiter, 1000);
  await admin.replicaof('127.0.0.1', await freePort());
  const { outcome } = await timed(limiter);
  expectAnswer(outcome, 'local');
  await admin.replicaof('NO', 'ONE');
  await backWithin(limiter, 5000);
  admin.disconnect();
}, 20_000);

// Last, since it speaks of all of the above.
it('leaves no rejection unhandled', () => {
  expect(unhandled).toEqual([]);
});
