// Slots through the stores that ship, against the definition: whoever asks, renews, lets go or dies, in any order and
// under a clock that steps, the memory store and the Redis scripts say the same, and no grant goes above the most.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { MemoryLeases } from '../../src/store/memory/memory-leases';
import { RedisLeases } from '../../src/store/redis/redis-leases';
import { usFromMs } from '../../src/core/duration';
import { FakeClock } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

const LEASES_MS = [100, 250, 1000];
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('hold' as const),
      id: fc.nat(9).map((n) => `id${n}`),
      leaseMs: fc.constantFrom(...LEASES_MS),
      max: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant('release' as const),
      id: fc.nat(9).map((n) => `id${n}`),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('pass' as const), ms: fc.nat(600).map((n) => n / 2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('step' as const),
      ms: fc.integer({ min: -2000, max: 2000 }),
    }),
  },
);

/** The definition, word for word: a list of who holds until when. */
class Definition {
  #holders: { id: string; until: number }[] = [];

  hold(id: string, max: number, now: number, leaseMs: number) {
    this.#holders = this.#holders.filter(({ until }) => until > now);
    const others = this.#holders.filter((holder) => holder.id !== id);
    const granted = others.length < this.#holders.length || others.length < max;
    if (granted) this.#holders = [...others, { id, until: now + leaseMs }];
    return { granted, inFlight: this.#holders.length };
  }

  release(id: string) {
    this.#holders = this.#holders.filter((holder) => holder.id !== id);
  }
}

it('memory, the Redis scripts and the definition say the same', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
      async (history) => {
        const clock = new FakeClock();
        const slots = uniquePrefix();
        const memory = new MemoryLeases(clock);
        const shared = new RedisLeases(redis, () => usFromMs(clock.nowMs()));
        const definition = new Definition();
        const said: unknown[] = [];
        const meant: unknown[] = [];
        for (const each of history) {
          if (each.does === 'pass') clock.advance(each.ms);
          else if (each.does === 'step') clock.set(clock.nowMs() + each.ms);
          else if (each.does === 'release') {
            definition.release(each.id);
            memory.release({ slots, id: each.id });
            await shared.release({ slots, id: each.id });
          } else {
            const { id, max, leaseMs } = each;
            const expected = definition.hold(id, max, clock.nowMs(), leaseMs);
            meant.push(expected, expected);
            const request = { slots, id, max, leaseMs };
            said.push(memory.hold(request), await shared.hold(request));
          }
        }
        expect(said).toEqual(meant);
      },
    ),
    { numRuns: 300 },
  );
});

it('a new holder never makes more than the most', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 80 }), async (history) => {
      const clock = new FakeClock();
      const slots = uniquePrefix();
      const shared = new RedisLeases(redis, () => usFromMs(clock.nowMs()));
      const wrong: unknown[] = [];
      for (const each of history) {
        if (each.does === 'pass') clock.advance(each.ms);
        if (each.does === 'release') await shared.release({ slots, id: each.id });
        if (each.does !== 'hold') continue;
        const before = Number((await redis.zscore(slots, each.id)) ?? 0);
        const isNew = before <= clock.nowMs() * 1000;
        const { granted, inFlight } = await shared.hold({ slots, ...each });
        if (isNew && granted && inFlight > each.max) wrong.push({ each, inFlight });
      }
      expect(wrong).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

describe('a key of slots', () => {
  it('goes away with its last lease, and lives as long as its longest', async () => {
    const slots = uniquePrefix();
    const leases = new RedisLeases(redis);
    await leases.hold({ slots, id: 'long', max: 5, leaseMs: 60_000 });
    await leases.hold({ slots, id: 'short', max: 5, leaseMs: 100 });
    expect(await redis.pttl(slots)).toBeGreaterThan(59_000);
    expect(await redis.pttl(slots)).toBeLessThanOrEqual(60_002);
    await leases.release({ slots, id: 'long' });
    await leases.release({ slots, id: 'short' });
    expect(await redis.exists(slots)).toBe(0);
  });

  it('is refused when the numbers make no sense', async () => {
    const leases = new RedisLeases(redis);
    const asked = leases.hold({ slots: uniquePrefix(), id: 'a', max: 0, leaseMs: 100 });
    await expect(asked).rejects.toThrow('slots or lease out of range');
  });

  it('of which nothing is held is forgotten in memory, too', () => {
    const leases = new MemoryLeases(new FakeClock());
    leases.hold({ slots: 'k', id: 'a', max: 1, leaseMs: Infinity });
    leases.hold({ slots: 'k', id: 'b', max: 1, leaseMs: Infinity });
    leases.release({ slots: 'k', id: 'b' });
    expect(leases.size).toBe(1);
    leases.release({ slots: 'k', id: 'a' });
    expect(leases.size).toBe(0);
  });
});

it('300 at once on one key: exactly the most are granted', async () => {
  const slots = uniquePrefix();
  const leases = new RedisLeases(redis);
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, i) =>
      leases.hold({ slots, id: `${i}`, max: 20, leaseMs: 5000 }),
    ),
  );
  expect(answers.filter(({ granted }) => granted)).toHaveLength(20);
  expect(answers.map(({ inFlight }) => inFlight).every((inFlight) => inFlight <= 20)).toBe(true);
  await redis.del(slots);
});
