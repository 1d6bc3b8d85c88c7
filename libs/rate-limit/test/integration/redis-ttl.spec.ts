// How long keys live: as long as their bucket is not full, and no longer. The only clock here is the real one.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { costThousandths, parseLimit, type Limit } from '../../src/core/limit';
import type { BucketCharge } from '../../src/store/rate-limit-store';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from '../support/limiter';
import { keyLives } from '../support/redis-commands';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
let store: RedisStore;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
  store = new RedisStore(redis);
});
afterAll(() => redis.disconnect());

function charge(bucket: string, limit: Limit, cost = 1, maxWaitUs = 0): BucketCharge {
  const parsed = parseLimit(limit, 'test');
  return { bucket, place: 'p', limit: parsed, price: costThousandths(cost) * parsed.q, maxWaitUs };
}

describe('a key lives as long as its bucket needs to fill (B03)', () => {
  it.each<[Limit, number, number]>([
    [{ rate: 0.01, capacity: 1 }, 1, 100_000],
    [{ rate: 10, capacity: 20 }, 1, 100],
    [{ rate: 10, capacity: 20 }, 20, 2000],
    [{ rate: 1 / 3, capacity: 7 }, 7, 21_000],
    [{ rate: 100_000, per: 'day', capacity: 1000 }, 1000, 864_000],
    [{ rate: 1e6, capacity: 1000 }, 1000, 1],
  ])('%p, %p taken: %p ms, and 2 to be sure', async (limit, cost, fullInMs) => {
    const bucket = uniquePrefix();
    const startedAt = performance.now();
    await store.take([charge(bucket, limit, cost)]);
    const life = await redis.pttl(bucket);
    expect(life).toBeLessThanOrEqual(fullInMs + 2);
    // The bucket fills while we ask, and a key that is gone (-2) was full by then.
    const askedMs = performance.now() - startedAt;
    expect(life).toBeGreaterThan(Math.max(-3, fullInMs - askedMs - 1));
  });

  it('counts debt in', async () => {
    const bucket = uniquePrefix();
    await store.take([charge(bucket, { rate: 1, capacity: 5 }, 5)]);
    for (let i = 0; i < 3; i++)
      await store.take([charge(bucket, { rate: 1, capacity: 5 }, 5, 1e9)]);
    expect(await redis.pttl(bucket)).toBeGreaterThan(19_000);
  });

  it('still covers the time to full after a denial, whenever that comes', async () => {
    const bucket = uniquePrefix();
    const limit = { rate: 0.1, capacity: 1 };
    await store.take([charge(bucket, limit)]);
    for (let i = 0; i < 3; i++) {
      await delay(20);
      const [{ granted, fullInUs }] = await store.take([charge(bucket, limit)]);
      expect(granted).toBe(false);
      expect(await redis.pttl(bucket)).toBeGreaterThanOrEqual(Math.floor(fullInUs / 1000) - 500);
      expect(await redis.pexpiretime(bucket)).toBeGreaterThan(0);
    }
  });

  it('is lengthened, even by a denial, when the limit became slower', async () => {
    const bucket = uniquePrefix();
    await store.take([charge(bucket, { rate: 10, capacity: 2 }, 2)]);
    expect(await redis.pttl(bucket)).toBeLessThanOrEqual(202);
    const slower = charge(bucket, { rate: 0.01, capacity: 2 }, 2);
    const [{ granted, fullInUs }] = await store.take([slower]);
    expect(granted).toBe(false);
    expect(await redis.pttl(bucket)).toBeGreaterThanOrEqual(Math.floor(fullInUs / 1000) - 500);
  });

  it('is not shortened by a denial under a faster limit', async () => {
    const bucket = uniquePrefix();
    await store.take([charge(bucket, { rate: 0.01, capacity: 2 }, 2)]);
    await store.take([charge(bucket, { rate: 1, capacity: 2 }, 2)]);
    expect(await redis.pttl(bucket)).toBeGreaterThan(199_000);
  });
});

describe('silence is worth exactly what refills (B03)', () => {
  it('one token every 400 ms: 320 ms of silence are not enough, 401 are', async () => {
    const limit = { rate: 2.5, capacity: 1 };
    const [early, onTime] = [uniquePrefix(), uniquePrefix()];
    const first = await store.take([charge(early, limit)]);
    await store.take([charge(onTime, limit)]);
    expect(first[0].granted).toBe(true);
    await delay(320);
    expect((await store.take([charge(early, limit)]))[0].granted).toBe(false);
    await delay(90);
    expect((await store.take([charge(onTime, limit)]))[0].granted).toBe(true);
  });

  it('a drained bucket of 3 has 1 token after a bit more than the time of 1', async () => {
    const limit = { rate: 2, capacity: 3 };
    const bucket = uniquePrefix();
    await store.take([charge(bucket, limit, 3)]);
    await delay(700);
    const granted: boolean[] = [];
    for (let i = 0; i < 3; i++)
      granted.push((await store.take([charge(bucket, limit)]))[0].granted);
    expect(granted).toEqual([true, false, false]);
  });
});

describe('no rate and no capacity breaks the expiry (B05)', () => {
  const rates = [1 / 3, 3, 7, 0.3, 1e-6, 1e-9, 1e-12, 1e6];
  const capacities = [1, 2.5, 1000, 1e9];

  it.each(rates.flatMap((rate) => capacities.map((capacity) => [rate, capacity])))(
    'rate %p, capacity %p: counted with a finite wait, or refused at the start',
    async (rate, capacity) => {
      let limit;
      try {
        limit = parseLimit({ rate, capacity }, 'test');
      } catch (error) {
        const { message } = error as Error;
        if (/^test: rate .* (is not a number from|cannot be counted)/.test(message)) return;
        throw error;
      }
      const bucket = uniquePrefix();
      const all = {
        bucket,
        place: 'p',
        limit,
        price: Math.floor(limit.capacity / limit.q) * limit.q,
        maxWaitUs: 0,
      };
      expect((await store.take([all]))[0].granted).toBe(true);
      const life = await redis.pttl(bucket);
      const [{ waitUs }] = await store.take([all]);
      expect(Number.isFinite(waitUs)).toBe(true);
      // A bucket that fills within a few ms may be gone again already, and 0 is the last moment of a key.
      const fullInMs = limit.capacity / limit.n / 1000;
      expect(life >= 0 || (life === -2 && fullInMs < 50)).toBe(true);
    },
  );
});

describe('no key is left without an expiry (B63)', () => {
  it('after 10 000 random operations on buckets that come and go', async () => {
    const keyPrefix = uniquePrefix().slice(0, -1);
    const tiers = {
      free: { rate: 50, capacity: 2 },
      pro: { rate: 400, capacity: 8 },
      slow: { rate: 1, capacity: 3 },
    };
    const limiter = limiterOver(store, { keyPrefix, tiers, timeoutMs: 5000 });
    const operation = fc.record({
      what: fc.constantFrom('consume', 'consume', 'consume', 'peek', 'reset', 'all'),
      key: fc.nat(20).map((key) => `key ${key}`),
      tier: fc.constantFrom('free', 'pro', 'slow'),
      cost: fc.constantFrom(0.5, 1, 2),
    });
    const operations = fc.sample(operation, 10_000);
    const run = async ({ what, key, tier, cost }: (typeof operations)[number]) => {
      if (what === 'consume') await limiter.consume(key, { tier }, { cost });
      if (what === 'peek') await limiter.peek(key, { tier });
      if (what === 'reset') await limiter.reset(key, { tier });
      if (what === 'all')
        await limiter.consumeAll([
          { key, limit: { tier } },
          { key, limit: tiers.slow, scope: 'x' },
        ]);
    };
    for (let from = 0; from < operations.length; from += 50) {
      await Promise.all(operations.slice(from, from + 50).map(run));
    }
    const lives = await keyLives(redis, keyPrefix);
    expect(lives.size).toBeGreaterThan(0);
    // -2: gone since it was listed. -1 would be a key for ever.
    expect([...lives.values()].filter((life) => life === -1 || life > 6002)).toEqual([]);
  }, 60_000);
});
