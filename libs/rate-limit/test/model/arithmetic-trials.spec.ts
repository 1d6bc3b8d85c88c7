// What other limiters got wrong about refilling, waiting and large numbers, tried on memory and on a real Redis.
import { Redis } from 'ioredis';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { limiterOver } from '../support/limiter';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

describe.each(['memory', 'redis'])('on %s', (kind) => {
  function setup() {
    const clock = new FakeClock();
    const store = kind === 'memory' ? new MemoryStore({ clock }) : redisStoreOn(clock, redis);
    return { clock, limiter: limiterOver(store, { clock, keyPrefix: uniquePrefix() }) };
  }

  it.each<[rate: number, stepMs: number, pattern: string]>([
    [1, 500, '10101010'],
    [1, 300, '100010001'],
    [0.1, 5000, '10101'],
  ])('B01: denied polls reset no clock: rate %p, each %p ms', async (rate, stepMs, pattern) => {
    const { clock, limiter } = setup();
    let seen = '';
    for (let i = 0; i < pattern.length; i++, clock.advance(stepMs)) {
      seen += Number((await limiter.consume('k', { rate, capacity: 1 })).allowed);
    }
    expect(seen).toBe(pattern);
  });

  it('B25: waits fall strictly, and a fraction of a token is none', async () => {
    const { clock, limiter } = setup();
    await limiter.consume('k', { rate: 2, capacity: 1 });
    const waits: number[] = [];
    for (let ms = 50; ms <= 400; ms += 50) {
      clock.advance(50);
      const { allowed, retryAfterMs, remaining } = await limiter.peek('k', {
        rate: 2,
        capacity: 1,
      });
      expect([allowed, remaining]).toEqual([false, 0]);
      waits.push(retryAfterMs);
    }
    expect(waits).toEqual([450, 400, 350, 300, 250, 200, 150, 100]);
    clock.advance(99);
    expect(await limiter.peek('k', { rate: 2, capacity: 1 })).toMatchObject({ allowed: false });
  });

  it('B31: the part of a token that is there shortens the wait', async () => {
    const { clock, limiter } = setup();
    await limiter.consume('k', { rate: 1, capacity: 1 });
    clock.advance(200);
    expect(await limiter.consume('k', { rate: 1, capacity: 1 })).toMatchObject({
      retryAfterMs: 800,
    });
    clock.advance(799);
    expect(await limiter.consume('k', { rate: 1, capacity: 1 })).toMatchObject({ retryAfterMs: 1 });
    const half = { rate: 0.5, capacity: 3, name: 'half' };
    await limiter.consume('k', half, { cost: 3 });
    clock.advance(3000);
    expect(await limiter.consume('k', half, { cost: 3 })).toMatchObject({ retryAfterMs: 3000 });
  });

  it('B55: who cannot make it is told at once, and leaves nothing behind', async () => {
    const { clock, limiter } = setup();
    const limit = { rate: 1, capacity: 1 };
    const calls = Array.from({ length: 10 }, () =>
      limiter.acquire('k', limit, { timeoutMs: 500 }).then(
        () => 'ran',
        ({ code }: { code: string }) => code,
      ),
    );
    const told = await Promise.all(calls);
    expect(told).toEqual(['ran', ...Array<string>(9).fill('RATE_LIMIT_WAIT_TOO_LONG')]);
    expect(clock.pending).toBe(0);
    clock.advance(1000);
    expect((await limiter.consume('k', limit)).allowed).toBe(true);
  });

  it('B59: large limits are counted like small ones', async () => {
    const { clock, limiter } = setup();
    const wide = Object.freeze({ rate: 0.001, capacity: 20_000, name: 'wide' });
    let allowed = 0;
    for (let i = 0; i < 20; i++) {
      const batch = Array.from({ length: i === 19 ? 1001 : 1000 }, () =>
        limiter.consume('k', wide),
      );
      allowed += (await Promise.all(batch)).filter((decision) => decision.allowed).length;
    }
    expect(allowed).toBe(20_000);
    const fast = Object.freeze({ rate: 6000, capacity: 6000, name: 'fast' });
    let tokens = 0;
    for (let ms = 0; ms <= 5000; ms += 10, clock.advance(10)) {
      for (const cost of [6000, 600, 60]) {
        while ((await limiter.consume('k', fast, { cost })).allowed) tokens += cost;
      }
    }
    expect(tokens).toBe(36_000);
    const huge = { rate: 1e12, capacity: 1e12, name: 'huge' };
    expect((await limiter.consume('k', huge, { cost: 1 })).remaining).toBe(1e12 - 1);
  }, 60_000);
});
