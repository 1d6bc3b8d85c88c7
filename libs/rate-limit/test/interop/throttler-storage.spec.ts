// The storage of @nestjs/throttler over token buckets: what its guard asks of a storage, and what of theirs differs.
import { Redis } from 'ioredis';
import { InvalidLimitError } from 'nest-rate-limit';
import { RedisTokenBucketStorage } from 'nest-rate-limit/throttler';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { commandCounts, forgetCommands, keyLives } from '../support/redis-commands';
import { RedisServer, sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
const opened: RedisTokenBucketStorage[] = [];
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((storage) => storage.onApplicationShutdown()));
});
afterAll(() => redis.disconnect());

function storageOf(...args: ConstructorParameters<typeof RedisTokenBucketStorage>) {
  const storage = new RedisTokenBucketStorage(args[0], { keyPrefix: uniquePrefix(), ...args[1] });
  opened.push(storage);
  return storage;
}

const passed = (totalHits: number, timeToExpire: number) => ({
  totalHits,
  timeToExpire,
  isBlocked: false,
  timeToBlockExpire: 0,
});

describe.each(['memory', 'Redis'])('on %s', (kind) => {
  let clock: FakeClock;
  let storage: RedisTokenBucketStorage;
  beforeEach(() => {
    clock = new FakeClock();
    storage = storageOf(kind === 'Redis' ? redisStoreOn(clock, redis) : new MemoryStore({ clock }));
  });

  it('counts hits, and tells seconds where seconds are due (B41)', async () => {
    const hits = [];
    for (let i = 0; i < 4; i++)
      hits.push(await storage.increment('k', 60_000, 3, 60_000, 'default'));
    expect(hits).toEqual([
      passed(1, 20),
      passed(2, 40),
      passed(3, 60),
      { totalHits: 4, timeToExpire: 60, isBlocked: true, timeToBlockExpire: 60 },
    ]);
  });

  it('a time-out below a second is never told as 0', async () => {
    await storage.increment('k', 500, 1, 500, 'default');
    const { timeToExpire, timeToBlockExpire } = await storage.increment(
      'k',
      500,
      1,
      500,
      'default',
    );
    expect([timeToExpire, timeToBlockExpire]).toEqual([1, 1]);
  });

  it('a block lasts its time, whatever refills meanwhile, is not prolonged, and leaves a full bucket', async () => {
    const hit = () => storage.increment('k', 1000, 2, 10_000, 'default');
    for (let i = 0; i < 2; i++) await hit();
    expect(await hit()).toMatchObject({ isBlocked: true, timeToBlockExpire: 10 });
    clock.set(clock.nowMs() + 9000);
    expect(await hit()).toMatchObject({ totalHits: 3, isBlocked: true, timeToBlockExpire: 1 });
    clock.set(clock.nowMs() + 999);
    expect(await hit()).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    clock.set(clock.nowMs() + 1);
    expect(await hit()).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await hit()).toMatchObject({ totalHits: 2, isBlocked: false });
    expect(await hit()).toMatchObject({ isBlocked: true });
  });

  it('with blockDuration 0, who waits for Retry-After passes, and a refusal costs nothing', async () => {
    const hit = () => storage.increment('k', 10_000, 5, 0, 'default');
    for (let i = 0; i < 5; i++) await hit();
    for (let i = 0; i < 100; i++) {
      expect(await hit()).toMatchObject({ totalHits: 6, isBlocked: true, timeToBlockExpire: 2 });
    }
    clock.set(clock.nowMs() + 1999);
    expect((await hit()).isBlocked).toBe(true);
    clock.set(clock.nowMs() + 1);
    expect(await hit()).toMatchObject({ totalHits: 5, isBlocked: false });
  });

  it('never lets through more than limit + what refilled: no edge of a window', async () => {
    const hit = async () => !(await storage.increment('k', 1000, 10, 0, 'default')).isBlocked;
    let admitted = 0;
    for (let ms = 0; ms < 100; ms++) {
      clock.set(clock.nowMs() + 10);
      for (let i = 0; i < 20; i++) admitted += Number(await hit());
    }
    expect(admitted).toBe(10 + 9);
  });

  it('throttlers of different names never share a bucket, not even under one key', async () => {
    const names = ['default', 'short', 'a:b', 'a', 'a%3Ab', ''];
    for (const name of names) {
      expect(await storage.increment('b:c', 60_000, 2, 0, name)).toMatchObject({ totalHits: 1 });
    }
    expect(await storage.increment('c', 60_000, 2, 0, 'a:b')).toMatchObject({ totalHits: 1 });
  });

  it('keeps what was used when limit or ttl change', async () => {
    for (let i = 0; i < 4; i++) await storage.increment('k', 60_000, 5, 0, 'default');
    expect(await storage.increment('k', 60_000, 10, 0, 'default')).toMatchObject({
      totalHits: 10,
    });
    expect(await storage.increment('k', 60_000, 10, 0, 'default')).toMatchObject({
      isBlocked: true,
    });
  });

  it.each([
    [0, 60_000],
    [-1, 60_000],
    [0.5, 60_000],
  ])('a limit of %p lets nothing pass', async (limit, ttl) => {
    expect(await storage.increment('k', ttl, limit, ttl, 'default')).toEqual({
      totalHits: 1,
      timeToExpire: 60,
      isBlocked: true,
      timeToBlockExpire: 60,
    });
  });

  it.each([
    [Infinity, 60_000],
    [1, 0],
    [1, -5],
  ])('limit %p per ttl %p lets everything pass', async (limit, ttl) => {
    for (let i = 0; i < 3; i++) {
      expect(await storage.increment('k', ttl, limit, 0, 'default')).toMatchObject({
        isBlocked: false,
      });
    }
  });

  it('a fraction of a call is never allowed', async () => {
    const hit = () => storage.increment('k', 60_000, 2.9, 0, 'default');
    expect([await hit(), await hit(), await hit()].map(({ isBlocked }) => isBlocked)).toEqual([
      false,
      false,
      true,
    ]);
  });
});

it('a thousand calls at once through two instances: exactly the limit passes', async () => {
  const keyPrefix = uniquePrefix();
  const two = [1, 2].map(() => storageOf(sharedRedisUrl(), { keyPrefix, storeTimeoutMs: 10_000 }));
  await Promise.all(two.map((storage) => storage.onModuleInit()));
  const hits = await Promise.all(
    Array.from({ length: 1000 }, (_, i) =>
      two[i % 2].increment('k', 3_600_000, 100, 3_600_000, 'default'),
    ),
  );
  expect(hits.filter(({ isBlocked }) => !isBlocked)).toHaveLength(100);
});

it('is one call a check, and three once a block begins; no key is left without an end', async () => {
  const server = await RedisServer.start();
  const admin = new Redis(server.url);
  const storage = storageOf(server.url, { keyPrefix: 'own' });
  try {
    const hit = () => storage.increment('k', 60_000, 1, 30_000, 'default');
    await storage.onModuleInit();
    // The server learns the scripts.
    for (let i = 0; i < 3; i++) await hit();
    await admin.flushall();
    await forgetCommands(admin);
    await hit();
    expect(await commandCounts(admin)).toMatchObject({ evalsha: 1 });
    await forgetCommands(admin);
    await hit();
    expect(await commandCounts(admin)).toMatchObject({ evalsha: 2, del: 1 });
    await forgetCommands(admin);
    await hit();
    expect(await commandCounts(admin)).toEqual({ evalsha: 1, time: 1, mget: 1 });
    const lives = [...(await keyLives(admin, 'own')).values()];
    expect(lives).toHaveLength(1);
    expect(lives[0]).toBeGreaterThan(20_000);
    expect(lives[0]).toBeLessThanOrEqual(30_002);
  } finally {
    admin.disconnect();
    await server.stop();
  }
});

describe('without Redis', () => {
  it('limits in this process by default, within the deadline, and says so once', async () => {
    const storage = storageOf({ host: '127.0.0.1', port: 1 }, { storeTimeoutMs: 100 });
    const hits = [];
    for (let i = 0; i < 4; i++) hits.push(await storage.increment('k', 60_000, 3, 60_000, 'x'));
    expect(hits.map(({ isBlocked }) => isBlocked)).toEqual([false, false, false, true]);
  });

  it('open lets pass, closed answers 503, a share is a part', async () => {
    const out = { host: '127.0.0.1', port: 1 };
    const open = storageOf(out, { onStoreFailure: 'open' });
    for (let i = 0; i < 3; i++)
      expect((await open.increment('k', 1000, 1, 0, 'x')).isBlocked).toBe(false);
    const closed = storageOf(out, { onStoreFailure: 'closed' });
    await expect(closed.increment('k', 1000, 1, 0, 'x')).rejects.toMatchObject({ status: 503 });
    const share = storageOf(out, { localShare: 0.5 });
    const hits = [];
    for (let i = 0; i < 4; i++) hits.push(await share.increment('k', 60_000, 4, 0, 'x'));
    expect(hits.map(({ isBlocked }) => isBlocked)).toEqual([false, false, true, true]);
  });
});

describe('options', () => {
  it.each([
    ['no address', undefined, {}, 'redis'],
    ['an empty one', '', {}, 'redis'],
    ['a number', 6379, {}, 'redis'],
    ['an unknown option', 'redis://x', { prefix: 'a' }, 'option "prefix" is unknown'],
    ['braces in the prefix', 'redis://x', { keyPrefix: '{a}' }, 'keyPrefix "{a}"'],
    ['no deadline', 'redis://x', { storeTimeoutMs: 0 }, 'storeTimeoutMs 0'],
    ['another policy', 'redis://x', { onStoreFailure: 'maybe' }, 'onStoreFailure "maybe"'],
    ['a share of nothing', 'redis://x', { localShare: 0 }, 'localShare 0'],
  ])('refuses %s', (_, address, options, message) => {
    const make = () => new RedisTokenBucketStorage(address as never, options as never);
    expect(make).toThrow(InvalidLimitError);
    expect(make).toThrow(message);
  });
});
