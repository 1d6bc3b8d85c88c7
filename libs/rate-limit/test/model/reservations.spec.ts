// Reserving, settling, giving back and taking by hand: over the memory store and the scripts on a real Redis, exact, on
// a clock that the test moves.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { InvalidCostError } from '../../src/core/errors';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import type { Reservation } from '../../src/limiter/reservation';
import { MemoryStore } from '../../src/store/memory/memory-store';
import type { RateLimitStore } from '../../src/store/rate-limit-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { limiterOver } from '../support/limiter';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

const STORES: Record<string, (clock: FakeClock) => RateLimitStore> = {
  memory: (clock) => new MemoryStore({ clock }),
  redis: (clock) => redisStoreOn(clock, redis),
};
const TEN = { rate: 10, capacity: 20 };

function setup(kind: string) {
  const clock = new FakeClock();
  const limiter = limiterOver(STORES[kind](clock), {
    keyPrefix: uniquePrefix(),
    limit: TEN,
    policies: {
      requests: { rate: 1, per: 'minute', capacity: 3 },
      tokens: { rate: 100, capacity: 1000 },
    },
    clock,
  });
  return { clock, limiter };
}

describe.each(['memory', 'redis'])('on %s', (kind) => {
  let clock: FakeClock;
  let limiter: RateLimiter;
  beforeEach(() => ({ clock, limiter } = setup(kind)));

  const left = async () => (await limiter.getInfo('k'))?.available ?? 20;

  describe('reserve', () => {
    it('takes now what is there, and says when the rest is', async () => {
      expect(await limiter.reserve('k', TEN, { cost: 15 })).toMatchObject({
        allowed: true,
        delayMs: 0,
        startsAt: clock.nowMs(),
        remaining: 5,
      });
      expect(await limiter.reserve('k', TEN, { cost: 15, maxWaitMs: 1000 })).toMatchObject({
        allowed: true,
        delayMs: 1000,
        startsAt: clock.nowMs() + 1000,
        remaining: 0,
      });
    });

    it('refuses what would take longer, and takes nothing', async () => {
      await limiter.consume('k', TEN, { cost: 20 });
      const refused = await limiter.reserve('k', TEN, { cost: 5, maxWaitMs: 499.9 });
      expect(refused).toMatchObject({ allowed: false, delayMs: 0, retryAfterMs: 500 });
      await refused.settle(20);
      await refused.cancel();
      clock.advance(500);
      expect(await left()).toBe(5);
    });

    it('reserves several together, for the latest of their moments', async () => {
      await limiter.consume('k', 'requests', { cost: 3 });
      const charges = [
        { key: 'k', limit: 'requests' },
        { key: 'k', limit: 'tokens', cost: 400 },
      ];
      expect((await limiter.reserveAll(charges, { maxWaitMs: 59_999 })).allowed).toBe(false);
      expect(await limiter.getInfo('k', 'tokens')).toBeNull();
      const reserved = await limiter.reserveAll(charges, { maxWaitMs: 60_000 });
      expect(reserved).toMatchObject({ allowed: true, delayMs: 60_000 });
      await reserved.settle([1, 150]);
      expect(await limiter.getInfo('k', 'tokens')).toMatchObject({ available: 850 });
      expect(await limiter.peek('k', 'requests')).toMatchObject({ retryAfterMs: 120_000 });
    });
  });

  describe('settle', () => {
    it('returns what was not used, and takes what was used beyond it, also above the capacity', async () => {
      const less = await limiter.reserve('k', TEN, { cost: 10 });
      await less.settle(2.5);
      expect(await left()).toBe(17);
      const more = await limiter.reserve('k', TEN, { cost: 10 });
      await more.settle(30);
      expect(await limiter.peek('k')).toMatchObject({ allowed: false, retryAfterMs: 1350 });
    });

    it('of nothing returns everything; of the same changes nothing', async () => {
      await (await limiter.reserve('k', TEN, { cost: 10 })).settle(0);
      expect(await limiter.getInfo('k')).toBeNull();
      await (await limiter.reserve('k', TEN, { cost: 10 })).settle(10);
      expect(await left()).toBe(10);
    });

    it('counts once: the first word of settle and cancel', async () => {
      const one = await limiter.reserve('k', TEN, { cost: 10 });
      await Promise.all([one.settle(4), one.settle(0), one.cancel()]);
      await one.settle(0);
      expect(await left()).toBe(16);
      const other = await limiter.reserve('k', TEN, { cost: 10 });
      await other.cancel();
      await other.settle(20);
      expect(await left()).toBe(16);
    });

    it('is safe when the bucket is full again, or was reset', async () => {
      const one = await limiter.reserve('k', TEN, { cost: 10 });
      clock.advance(60_000);
      await one.settle(3);
      expect(await limiter.getInfo('k')).toBeNull();
      const other = await limiter.reserve('k', TEN, { cost: 10 });
      await limiter.reset('k');
      await other.settle(13);
      expect(await left()).toBe(17);
    });

    it.each([-1, NaN, Infinity, '5', undefined, 1e300])(
      'of %p is refused, and can be said again',
      async (cost) => {
        const one = await limiter.reserve('k', TEN, { cost: 10 });
        await expect(one.settle(cost as number)).rejects.toThrow(InvalidCostError);
        await one.settle(5);
        expect(await left()).toBe(15);
      },
    );
  });

  describe('cancel', () => {
    it('gives back what nobody behind was promised (as Go)', async () => {
      await limiter.consume('k', TEN, { cost: 20 });
      const first = await limiter.reserve('k', TEN, { cost: 10, maxWaitMs: 1e6 });
      const second = await limiter.reserve('k', TEN, { cost: 4, maxWaitMs: 1e6 });
      expect([first.delayMs, second.delayMs]).toEqual([1000, 1400]);
      // 10 − rate × (1.4 s − 1 s)
      await first.cancel();
      expect(await limiter.reserve('k', TEN, { maxWaitMs: 1e6 })).toMatchObject({ delayMs: 900 });
    });
  });

  describe('refund and penalize', () => {
    it('never above full, and into debt', async () => {
      await limiter.consume('k', TEN, { cost: 5 });
      await limiter.refund('k', TEN, 2);
      expect(await left()).toBe(17);
      await limiter.refund('k', undefined, 100);
      expect(await limiter.getInfo('k')).toBeNull();
      await limiter.penalize('k', undefined, 25);
      expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfterMs: 600 });
      await limiter.refund('k', undefined, 6);
      expect((await limiter.consume('k')).allowed).toBe(true);
    });

    it.each([0, -1, NaN, Infinity, '1'])('refuse %p tokens', async (tokens) => {
      await expect(limiter.refund('k', TEN, tokens as number)).rejects.toThrow('refund: tokens');
      await expect(limiter.penalize('k', TEN, tokens as number)).rejects.toThrow(
        'penalize: tokens',
      );
      expect(await limiter.getInfo('k')).toBeNull();
    });
  });

  describe('withBudget', () => {
    const charges = [
      { key: 'k', limit: 'requests' },
      { key: 'k', limit: 'tokens', cost: 400 },
    ];

    it('reserves, runs, and settles by what was used', async () => {
      const answer = await limiter.withBudget(charges, {}, (hold) => {
        hold.used(900);
        hold.used(150);
        hold.used(1, 'requests');
        return 'answer';
      });
      expect(answer).toBe('answer');
      expect(await limiter.getInfo('k', 'tokens')).toMatchObject({ available: 850 });
      expect(await limiter.getInfo('k', 'requests')).toMatchObject({ available: 2 });
    });

    it('settles when the work fails, and keeps the estimate when nothing was said', async () => {
      const failing = limiter.withBudget(charges, {}, (hold) => {
        hold.used(0);
        throw new Error('upstream');
      });
      await expect(failing).rejects.toThrow('upstream');
      expect(await limiter.getInfo('k', 'tokens')).toBeNull();
      await limiter.withBudget(charges, {}, () => undefined);
      expect(await limiter.getInfo('k', 'tokens')).toMatchObject({ available: 600 });
    });

    it('waits for its moment, and gives back what it held when it is aborted before', async () => {
      await limiter.consume('k', 'tokens', { cost: 1000 });
      const controller = new AbortController();
      let ran = false;
      const waiting = limiter.withBudget(charges, { signal: controller.signal }, () => {
        ran = true;
      });
      const outcome = Promise.allSettled([waiting]);
      await clock.untilPending();
      clock.advance(3999);
      controller.abort(new Error('gone'));
      expect(await outcome).toEqual([{ status: 'rejected', reason: new Error('gone') }]);
      expect(ran).toBe(false);
      expect(await limiter.getInfo('k', 'requests')).toBeNull();
      expect(await limiter.getInfo('k', 'tokens')).toMatchObject({ available: 399 });
    });

    it('does not run when it would have to wait too long, and charges nothing', async () => {
      await limiter.consume('k', 'tokens', { cost: 1000 });
      const fn = jest.fn();
      const call = limiter.withBudget(charges, { maxWaitMs: 3999 }, fn);
      await expect(call).rejects.toMatchObject({
        code: 'RATE_LIMIT_WAIT_TOO_LONG',
        retryAfterMs: 4000,
      });
      const aborted = limiter.withBudget(
        charges,
        { signal: AbortSignal.abort(new Error('early')) },
        fn,
      );
      await expect(aborted).rejects.toThrow('early');
      expect(fn).not.toHaveBeenCalled();
      expect(await limiter.getInfo('k', 'requests')).toBeNull();
    });

    it('refuses to be told nonsense', async () => {
      await limiter.withBudget(charges, {}, (hold) => {
        expect(() => hold.used(-1)).toThrow('used: -1');
        expect(() => hold.used(1, 'tokns')).toThrow('policy "tokns"');
      });
      expect(await limiter.getInfo('k', 'tokens')).toMatchObject({ available: 600 });
    });
  });
});

describe('a storm of 50 actors', () => {
  // One token a second of it is a credit a µs: a thousandth of a token at 50 a second is 20 µs.
  const LIMIT = { rate: 50, capacity: 20 };
  const CREDITS = 20;
  const FULL = 20_000 * CREDITS;
  /** Starts looked at in one window. */
  const LONGEST_WINDOW = 300;

  /** What a start was admitted for, and when, in µs. */
  interface Start {
    readonly atUs: number;
    readonly credits: number;
  }
  /** What came back, when, and until when starts had been promised by then. */
  interface Return extends Start {
    readonly untilUs: number;
  }

  /**
   * The most that started in any window beyond capacity + rate × T + what came back in T, or before T while starts of T
   * were promised already.
   */
  function mostBeyond(unsorted: Start[], returns: readonly Return[]): number {
    const starts = unsorted.toSorted((a, b) => a.atUs - b.atUs);
    let most = -Infinity;
    let first = 0;
    for (let i = 0; i < starts.length; i++) {
      const fromUs = starts[i].atUs;
      while (first < returns.length && returns[first].untilUs < fromUs - 10e6) first++;
      let next = first;
      let beyond = -FULL;
      for (let j = i; j < Math.min(starts.length, i + LONGEST_WINDOW); j++) {
        const { atUs, credits } = starts[j];
        beyond += credits;
        for (; next < returns.length && returns[next].atUs <= atUs; next++) {
          if (returns[next].untilUs >= fromUs) beyond -= returns[next].credits;
        }
        most = Math.max(most, beyond - (atUs - fromUs));
      }
    }
    return most;
  }

  function same(ours: unknown, model: unknown): void {
    if (ours !== model)
      throw new Error(`the limiter says ${String(ours)}, the model ${String(model)}`);
  }

  async function storm(kind: string, operations: number): Promise<number> {
    const clock = new FakeClock();
    const setup = { keyPrefix: uniquePrefix(), limit: LIMIT, clock };
    const limiter = limiterOver(STORES[kind](clock), setup);
    const draw = fc.sample(fc.nat(0x7fffffff), { numRuns: operations, seed: 42 });
    const held: { reservation: Reservation; credits: number; startUs: number }[] = [];
    const starts: Start[] = [];
    const returns: Return[] = [];
    const seen = {
      granted: 0,
      refused: 0,
      inDebt: 0,
      settled: 0,
      cancelled: 0,
      refunded: 0,
      penalized: 0,
    };
    let level = FULL;
    let atUs = Math.floor(clock.nowMs() * 1000);
    const change = (credits: number) => {
      if (credits > 0) returns.push({ atUs, credits, untilUs: atUs + Math.max(0, -level) });
      level = Math.min(FULL, level + credits);
    };
    const expectLevel = async () => {
      const { retryAfterMs } = await limiter.peek('k', LIMIT, { cost: 20 });
      same(retryAfterMs, Math.ceil((FULL - level) / 1000));
    };
    for (const raw of draw) {
      if ((raw & 3) === 0) clock.advance(((raw >>> 3) % 800) / 8);
      const nowUs = Math.floor(clock.nowMs() * 1000);
      level = Math.min(FULL, level + (nowUs - atUs));
      atUs = nowUs;
      const what = (raw >>> 12) % 10;
      const thousandths = 1 + ((raw >>> 16) % 6000);
      const credits = thousandths * CREDITS;
      if (what < 6 || held.length === 0) {
        const maxWaitMs = (raw >>> 20) % 3 === 0 ? 300 : 0;
        const reservation = await limiter.reserve('k', LIMIT, {
          cost: thousandths / 1000,
          maxWaitMs,
        });
        const waitUs = Math.max(0, credits - level);
        same(reservation.allowed, waitUs <= maxWaitMs * 1000);
        if (!reservation.allowed) {
          seen.refused++;
          continue;
        }
        same(Math.round(reservation.delayMs * 1000), waitUs);
        level -= credits;
        starts.push({ atUs: atUs + waitUs, credits });
        seen.granted++;
        if (level < 0) seen.inDebt++;
        // Of 50 actors: the others die with what they hold.
        if (held.length < 50) held.push({ reservation, credits, startUs: atUs + waitUs });
      } else if (what < 8) {
        const [{ reservation, credits: estimate }] = held.splice((raw >>> 8) % held.length, 1);
        const actual = (raw >>> 4) % (2 * (estimate / CREDITS));
        await reservation.settle(actual / 1000);
        change(estimate - actual * CREDITS);
        seen.settled++;
      } else if (what === 8) {
        const [{ reservation, credits: all, startUs }] = held.splice((raw >>> 8) % held.length, 1);
        await reservation.cancel();
        const later = Math.max(0, Math.max(0, -level) - Math.max(0, startUs - atUs));
        change(Math.max(0, all - later));
        seen.cancelled++;
      } else if (raw & 8) {
        await limiter.penalize('k', LIMIT, thousandths / 1000);
        change(-credits);
        seen.penalized++;
      } else {
        await limiter.refund('k', LIMIT, thousandths / 1000);
        change(credits);
        seen.refunded++;
      }
      if (raw % 64 === 0) await expectLevel();
    }
    await expectLevel();
    expect(Object.entries(seen).filter(([, count]) => count < operations / 100)).toEqual([]);
    return mostBeyond(starts, returns);
  }

  it.each([
    ['memory', 100_000],
    ['redis', 10_000],
  ])(
    'on %s: %d operations end where the model says, and the envelope holds',
    async (kind, count) => {
      expect(await storm(kind, count)).toBeLessThanOrEqual(0);
    },
    60_000,
  );
});
