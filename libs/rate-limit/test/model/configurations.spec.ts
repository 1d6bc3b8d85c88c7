// Numbers and blocks that are set by hand, over the memory store and the scripts on a real Redis: the same answers, to
// the millisecond.
import { Redis } from 'ioredis';
import {
  CostExceedsCapacityError,
  InvalidLimitError,
  UnknownPolicyError,
} from '../../src/core/errors';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { RedisStore } from '../../src/store/redis/redis-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { limiterOver } from '../support/limiter';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

const HOUR = 3_600_000;
const OWN = { rate: 10, capacity: 20 };
const RAISED = { rate: 1000, capacity: 500 };

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

const STORES = {
  memory: (clock: FakeClock) => new MemoryStore({ clock }),
  redis: (clock: FakeClock) => redisStoreOn(clock, redis),
};

describe.each(['memory', 'redis'] as const)('on %s', (kind) => {
  let clock: FakeClock;
  let limiter: RateLimiter;
  let keyPrefix: string;
  /** Another instance on the same store. */
  let other: RateLimiter;
  beforeEach(() => {
    clock = new FakeClock();
    keyPrefix = uniquePrefix();
    const store = STORES[kind](clock);
    const setup = {
      keyPrefix,
      limit: OWN,
      policies: { search: { rate: 1, capacity: 5 } },
      tiers: { free: { rate: 1, capacity: 2 }, pro: { rate: 10 / 13, capacity: 7 } },
    };
    limiter = limiterOver(store, setup);
    other = limiterOver(store, setup);
  });

  async function drained(key: string, limit?: string, scope?: string): Promise<number> {
    for (let passed = 0; ; passed++) {
      const { allowed } = await limiter.consume(key, limit, { scope });
      if (!allowed) return passed;
    }
  }

  describe('a configured limit', () => {
    it('holds from the next charge on, in every scope of the policy and in every instance', async () => {
      await limiter.configure('alice', RAISED);
      expect(await other.consume('alice')).toMatchObject({ limit: 500, remaining: 499 });
      expect(await other.consume('alice', OWN, { scope: 'elsewhere' })).toMatchObject({
        limit: 500,
      });
      expect(await other.consume('bob')).toMatchObject({ limit: 20, remaining: 19 });
      expect(await other.consume('alice', 'search')).toMatchObject({ limit: 5, remaining: 4 });
    });

    it('carries tokens over, up to the new capacity', async () => {
      await limiter.consume('alice', undefined, { cost: 12 });
      await limiter.configure('alice', RAISED);
      expect(await limiter.peek('alice')).toMatchObject({ allowed: true, remaining: 7 });
      clock.advance(100);
      expect(await limiter.peek('alice')).toMatchObject({ remaining: 107 });
      await limiter.configure('alice', { rate: 1, capacity: 3 });
      expect(await drained('alice')).toBe(3);
    });

    it('ends by itself, to the millisecond, and caps what is left', async () => {
      await limiter.configure('alice', RAISED, { ttlMs: HOUR });
      await limiter.consume('alice');
      clock.advance(HOUR - 1);
      expect(await limiter.peek('alice')).toMatchObject({ limit: 500 });
      clock.advance(1);
      expect(await limiter.peek('alice')).toMatchObject({ limit: 20, remaining: 19 });
      expect(await drained('alice')).toBe(20);
    });

    it('keeps the promise of a denial: refused 1 ms before, granted then', async () => {
      await limiter.configure('alice', { rate: 3, per: 'minute', capacity: 3 });
      await drained('alice');
      const { retryAfterMs } = await limiter.consume('alice');
      expect(retryAfterMs).toBe(20_000);
      clock.advance(retryAfterMs - 1);
      expect((await limiter.consume('alice')).allowed).toBe(false);
      clock.advance(1);
      expect((await limiter.consume('alice')).allowed).toBe(true);
    });

    it('is cleared, and the own numbers hold again', async () => {
      await limiter.configure('alice', RAISED);
      await other.clearConfiguration('alice');
      expect(await limiter.consume('alice')).toMatchObject({ limit: 20 });
      await limiter.clearConfiguration('nobody');
    });

    it('may be a row of the tier table, to the last thousandth', async () => {
      await limiter.configure('alice', { tier: 'pro' }, { policy: 'search' });
      expect(await drained('alice', 'search')).toBe(7);
      expect((await limiter.consume('alice', 'search')).retryAfterMs).toBe(1300);
    });

    it('can be lower than a cost: such a call says that it cannot pass, and charges nothing', async () => {
      await limiter.configure('alice', { rate: 1, capacity: 3 });
      const call = () =>
        limiter.consumeAll([
          { key: 'alice', cost: 4 },
          { key: 'alice', limit: 'search' },
        ]);
      await expect(call()).rejects.toThrow(CostExceedsCapacityError);
      await expect(call()).rejects.toThrow('capacity 3 that is configured for this key');
      expect(await limiter.peek('alice', 'search')).toMatchObject({ remaining: 4 });
      expect(await limiter.getInfo('alice')).toBeNull();
    });

    it('is decided together with the others of a call: all or nothing', async () => {
      await limiter.configure('alice', { rate: 1, capacity: 1 });
      const call = () => limiter.consumeAll([{ key: 'alice' }, { key: 'alice', limit: 'search' }]);
      expect((await call()).allowed).toBe(true);
      expect(await call()).toMatchObject({
        allowed: false,
        binding: { policy: 'default', limit: 1 },
      });
      expect(await limiter.peek('alice', 'search')).toMatchObject({ remaining: 3 });
    });

    it('stays when the bucket is reset', async () => {
      await limiter.configure('alice', RAISED);
      await drained('alice');
      await limiter.reset('alice');
      expect(await limiter.consume('alice')).toMatchObject({ limit: 500, remaining: 499 });
      expect(await limiter.getInfo('alice')).toEqual({ available: 499, rate: 1000, capacity: 500 });
    });
  });

  describe('a block', () => {
    it('refuses everything until it ends, and the bucket fills meanwhile', async () => {
      await drained('alice');
      await limiter.block('alice', undefined, 60_000);
      expect(await other.consume('alice')).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
      clock.advance(59_999);
      expect(await other.peek('alice')).toMatchObject({
        allowed: false,
        retryAfterMs: 1,
        remaining: 20,
      });
      clock.advance(1);
      expect(await drained('alice')).toBe(20);
    });

    it('is ended by unblock, and replaced by another block', async () => {
      await limiter.block('alice', 'search', 60_000);
      await limiter.block('alice', 'search', 10);
      expect(await limiter.consume('alice', 'search')).toMatchObject({ retryAfterMs: 10 });
      expect((await limiter.consume('alice')).allowed).toBe(true);
      await limiter.unblock('alice', 'search');
      expect((await limiter.consume('alice', 'search')).allowed).toBe(true);
    });

    it('and a configured limit leave each other alone', async () => {
      await limiter.configure('alice', RAISED, { ttlMs: 1000 });
      await limiter.block('alice', undefined, 5000);
      await limiter.clearConfiguration('alice');
      expect(await limiter.consume('alice')).toMatchObject({ allowed: false, limit: 20 });
      await limiter.configure('alice', RAISED, { ttlMs: 1000 });
      await limiter.unblock('alice');
      expect(await limiter.consume('alice')).toMatchObject({ allowed: true, limit: 500 });
    });
  });

  it('tells what is in force, and why', async () => {
    await limiter.configure('alice', RAISED, { ttlMs: HOUR, reason: 'launch day' });
    await limiter.configure('alice', { rate: 2, capacity: 2 }, { policy: 'search' });
    await limiter.block('alice', 'search', 5000);
    clock.advance(4999);
    const nowMs = clock.nowMs();
    expect(await other.configurations('alice')).toEqual([
      {
        policy: 'default',
        limit: RAISED,
        reason: 'launch day',
        limitEndsAtMs: nowMs - 4999 + HOUR,
      },
      { policy: 'search', limit: { rate: 2, capacity: 2 }, blockedUntilMs: nowMs + 1 },
    ]);
    clock.advance(1);
    expect((await other.configurations('alice'))[1]).not.toHaveProperty('blockedUntilMs');
    clock.advance(HOUR);
    expect((await other.configurations('alice')).map(({ policy }) => policy)).toEqual(['search']);
    expect(await other.configurations('bob')).toEqual([]);
  });

  it.each([
    [{ rate: 0 }, {}, InvalidLimitError, 'configure: limit: rate 0'],
    ['pro', {}, InvalidLimitError, 'configure: limit: "pro" is not a limit'],
    [{ tier: 'gold' }, {}, UnknownPolicyError, 'tier "gold"'],
    [{ rate: 1, name: 'x' }, {}, InvalidLimitError, 'name "x" differs from the policy "default"'],
    [RAISED, { policy: 'serach' }, UnknownPolicyError, 'policy "serach" is not known'],
    [RAISED, { ttlMs: -1 }, InvalidLimitError, 'configure: ttlMs -1'],
    [RAISED, { ttlMs: 0 }, InvalidLimitError, 'configure: ttlMs 0'],
    [RAISED, { ttlMs: NaN }, InvalidLimitError, 'configure: ttlMs NaN'],
    [RAISED, { ttlMs: 1e13 }, InvalidLimitError, 'configure: ttlMs 10000000000000'],
    [RAISED, { reason: 5 }, InvalidLimitError, 'configure: reason 5'],
    [RAISED, { reason: 'x'.repeat(501) }, InvalidLimitError, 'at most 500'],
  ])('refuses configure(%j, %j)', async (limit, options, error, message) => {
    const refused = limiter.configure('alice', limit as never, options as never);
    await expect(refused).rejects.toThrow(error);
    await expect(refused).rejects.toThrow(message);
    expect(await limiter.configurations('alice')).toEqual([]);
  });

  it.each([0, -5, NaN, Infinity, '5'])('refuses a block of %p ms', async (ms) => {
    await expect(limiter.block('alice', undefined, ms as number)).rejects.toThrow('block: ms');
  });
});

describe('in Redis', () => {
  it('configurations go when they have ended, and stay when they have no end', async () => {
    const keyPrefix = uniquePrefix();
    const limiter = limiterOver(new RedisStore(redis), { keyPrefix, limit: OWN });
    await limiter.configure('short', RAISED, { ttlMs: 5000 });
    await limiter.configure('long', RAISED);
    await limiter.block('blocked', undefined, 9000);
    const [short, long, blocked] = await Promise.all(
      ['short', 'long', 'blocked'].map(async (key) => {
        const [name] = await redis.keys(`${keyPrefix}:*!default:${key}`);
        return redis.pttl(name);
      }),
    );
    expect(short).toBeGreaterThan(4000);
    expect(short).toBeLessThanOrEqual(5002);
    expect(long).toBe(-1);
    expect(blocked).toBeGreaterThan(8000);
    await limiter.unblock('blocked');
    expect(await redis.keys(`${keyPrefix}:*!default:blocked`)).toEqual([]);
  });

  it('bytes that are no configuration count as none', async () => {
    const keyPrefix = uniquePrefix();
    const limiter = limiterOver(new RedisStore(redis), { keyPrefix, limit: OWN });
    await limiter.configure('alice', RAISED, { ttlMs: 60_000 });
    const [name] = await redis.keys(`${keyPrefix}:*!default:alice`);
    await redis.set(name, 'hello\n{', 'KEEPTTL');
    expect(await limiter.consume('alice')).toMatchObject({ allowed: true, limit: 20 });
    expect(await limiter.configurations('alice')).toEqual([]);
  });
});
