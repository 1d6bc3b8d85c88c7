import { bucketNamer } from '../core/bucket-key';
import { MemoryStore } from '../store/memory/memory-store';
import { ResilientStore } from '../store/resilient/resilient-store';
import { FakeClock } from '../testing';
import { LimiterEmitter } from './events';
import { PolicyRegistry } from './policy-registry';
import { RateLimiter } from './rate-limiter';

const TEN = { rate: 10, capacity: 1 };

function setup() {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock });
  const take = jest.spyOn(store, 'take');
  const giveBack = jest.spyOn(store, 'giveBack');
  const limiter = new RateLimiter(
    new ResilientStore(store, { timeoutMs: 250, clock }),
    new PolicyRegistry({ limit: TEN }, bucketNamer('rl')),
    new LimiterEmitter(),
    clock,
  );
  return { clock, store, limiter, take, giveBack };
}

/** What became of a call, and when. */
function watched(clock: FakeClock, call: Promise<{ waitedMs: number }>) {
  const seen: { atMs?: number; waitedMs?: number; error?: unknown } = {};
  const from = clock.monotonicMs();
  call.then(
    ({ waitedMs }) => Object.assign(seen, { atMs: clock.monotonicMs() - from, waitedMs }),
    (error: unknown) => Object.assign(seen, { atMs: clock.monotonicMs() - from, error }),
  );
  return seen;
}

describe('acquire', () => {
  it('waits its turn: in order, each exactly when its token is there', async () => {
    const { clock, limiter } = setup();
    const order: number[] = [];
    const calls = [0, 1, 2, 3].map((i) => {
      const call = limiter.acquire('k');
      void call.then(() => order.push(i));
      return watched(clock, call);
    });
    await clock.advanceAsync(300);
    expect(calls).toEqual([0, 100, 200, 300].map((ms) => ({ atMs: ms, waitedMs: ms })));
    expect(order).toEqual([0, 1, 2, 3]);
    expect(await limiter.peek('k')).toMatchObject({ allowed: false, retryAfterMs: 100 });
  });

  it('serves 1000 in order at the pace of the limit, with one question each', async () => {
    const { clock, limiter, take } = setup();
    const atMs: number[] = [];
    const order: number[] = [];
    const limit = { rate: 1000, capacity: 1 };
    for (let i = 0; i < 1000; i++) {
      void limiter.acquire('k', limit).then(() => {
        atMs.push(clock.monotonicMs());
        order.push(i);
      });
    }
    await clock.advanceAsync(999);
    expect(order).toEqual(Array.from({ length: 1000 }, (_, i) => i));
    expect(atMs).toEqual(order);
    expect(take).toHaveBeenCalledTimes(1000);
  });

  it('moves up when 500 of 1000 are aborted: nobody asks for them, nothing is lost', async () => {
    const { clock, limiter, take, giveBack } = setup();
    const limit = { rate: 1000, capacity: 1 };
    const served: number[] = [];
    const refused: number[] = [];
    const controllers = Array.from({ length: 1000 }, () => new AbortController());
    controllers.forEach(({ signal }, i) => {
      limiter.acquire('k', limit, { signal }).then(
        () => served.push(i),
        (error: unknown) => refused.push(error === signal.reason ? i : -1),
      );
    });
    await clock.advanceAsync(0);
    // The head, which holds a turn, is one of them.
    controllers.forEach((controller, i) => i % 2 === 1 && controller.abort(new Error(`${i}`)));
    await clock.advanceAsync(499);
    expect(served).toEqual(Array.from({ length: 500 }, (_, i) => 2 * i));
    expect(refused.toSorted((a, b) => a - b)).toEqual(served.map((i) => i + 1));
    // One question each, one more for the head that was aborted, and its token came back.
    expect(take).toHaveBeenCalledTimes(501);
    expect(giveBack).toHaveBeenCalledTimes(1);
  });

  it('fails at once when its turn cannot come in time, by the store or by those before it', async () => {
    const { clock, limiter, take } = setup();
    await limiter.consume('k');
    const tooLate = watched(clock, limiter.acquire('k', TEN, { timeoutMs: 99 }));
    await clock.advanceAsync(0);
    expect(tooLate.error).toMatchObject({ code: 'RATE_LIMIT_WAIT_TOO_LONG', retryAfterMs: 100 });

    const calls = [100, 200, 250, 300].map((timeoutMs) =>
      watched(clock, limiter.acquire('k', TEN, { timeoutMs })),
    );
    const asked = take.mock.calls.length;
    await clock.advanceAsync(0);
    // The third cannot make it; the fourth moves up, and nothing was asked for either.
    expect(calls[2]).toMatchObject({ atMs: 0, error: { code: 'RATE_LIMIT_WAIT_TOO_LONG' } });
    expect(take.mock.calls.length - asked).toBeLessThanOrEqual(1);
    await clock.advanceAsync(300);
    expect(calls.map(({ waitedMs }) => waitedMs)).toEqual([100, 200, undefined, 300]);
  });

  it('gives everything back when its head is aborted', async () => {
    const { clock, limiter } = setup();
    await limiter.consume('k');
    const controller = new AbortController();
    const reason = new Error('gone');
    const first = watched(clock, limiter.acquire('k', TEN, { signal: controller.signal }));
    const second = watched(clock, limiter.acquire('k', TEN));
    await clock.advanceAsync(30);
    controller.abort(reason);
    await clock.advanceAsync(70);
    expect(first).toEqual({ atMs: 30, error: reason });
    expect(second).toEqual({ atMs: 100, waitedMs: 100 });
  });

  it('asks nobody for a signal that is aborted already', async () => {
    const { limiter, take } = setup();
    const reason = new Error('never mind');
    await expect(limiter.acquire('k', TEN, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(take).not.toHaveBeenCalled();
  });

  it('leaves no listener on a signal that many waits share', async () => {
    const { clock, limiter } = setup();
    const { signal } = new AbortController();
    const remove = jest.spyOn(signal, 'removeEventListener');
    const add = jest.spyOn(signal, 'addEventListener');
    const all = Promise.all(
      Array.from({ length: 20 }, () => limiter.acquire('k', TEN, { signal })),
    );
    await clock.advanceAsync(2000);
    await all;
    // One listener for all of them, or Node warns of a leak.
    expect(add).toHaveBeenCalledTimes(1);
    expect(remove).toHaveBeenCalledTimes(1);
    expect(clock.pending).toBe(0);
  });

  it('takes costs above 1 in turn, the large one not behind the small ones that came later', async () => {
    const { clock, limiter } = setup();
    const limit = { rate: 10, capacity: 5 };
    await limiter.consume('k', limit, { cost: 5 });
    const large = watched(clock, limiter.acquire('k', limit, { cost: 5 }));
    const small = watched(clock, limiter.acquire('k', limit));
    await clock.advanceAsync(600);
    expect([large.waitedMs, small.waitedMs]).toEqual([500, 600]);
  });

  it('waits out a block, if there is time', async () => {
    const { clock, limiter } = setup();
    await limiter.block('k', TEN, 5000);
    const waits = watched(clock, limiter.acquire('k', TEN));
    await clock.advanceAsync(4999);
    expect(waits).toEqual({});
    await clock.advanceAsync(1);
    expect(waits).toEqual({ atMs: 5000, waitedMs: 5000 });
    await limiter.block('k', TEN, 5000);
    await expect(limiter.acquire('k', TEN, { timeoutMs: 4999 })).rejects.toMatchObject({
      retryAfterMs: 5000,
    });
  });

  it('lets nobody wait past his time behind a head that is blocked, or counts by windows', async () => {
    const { clock, limiter } = setup();
    const windows = { rate: 1, per: 10_000, algorithm: 'fixed-window', name: 'windows' } as const;
    await limiter.block('k', TEN, 5000);
    await limiter.consume('k', windows);
    for (const [limit, waitMs] of [
      [TEN, 5000],
      [windows, 5000],
    ] as const) {
      const calls = [60_000, 100, 4999, 60_000].map((timeoutMs) =>
        watched(clock, limiter.acquire('k', limit, { timeoutMs })),
      );
      await clock.advanceAsync(0);
      for (const call of [calls[1], calls[2]]) {
        expect(call).toMatchObject({ atMs: 0, error: { code: 'RATE_LIMIT_WAIT_TOO_LONG' } });
      }
      const late = watched(clock, limiter.acquire('k', limit, { timeoutMs: 1 }));
      await clock.advanceAsync(0);
      expect(late).toMatchObject({ atMs: 0, error: { retryAfterMs: waitMs } });
      await clock.advanceAsync(waitMs);
      expect(calls[0]).toEqual({ atMs: waitMs, waitedMs: waitMs });
    }
  });

  it('ends with the limiter', async () => {
    const { clock, limiter } = setup();
    const calls = [1, 2, 3].map(() => watched(clock, limiter.acquire('k')));
    await clock.advanceAsync(0);
    await limiter.close();
    await clock.advanceAsync(0);
    expect(calls.map(({ error }) => (error as { code?: string })?.code)).toEqual([
      undefined,
      'RATE_LIMIT_LIMITER_CLOSED',
      'RATE_LIMIT_LIMITER_CLOSED',
    ]);
    expect(clock.pending).toBe(0);
    await expect(limiter.acquire('k')).rejects.toMatchObject({ code: 'RATE_LIMIT_LIMITER_CLOSED' });
  });

  it('bounds those who wait', async () => {
    const { limiter } = setup();
    const all = Array.from({ length: 10_001 }, () =>
      limiter.acquire('k', { rate: 1e6, capacity: 1 }),
    );
    const [last] = all.splice(-1);
    await expect(last).rejects.toMatchObject({
      code: 'RATE_LIMIT_TOO_MANY_WAITERS',
      httpStatus: 503,
    });
    const ended = Promise.allSettled(all);
    await limiter.close();
    await ended;
  });

  it.each([
    [{ timeoutMs: -1 }, 'acquire: timeoutMs -1'],
    [{ timeoutMs: NaN }, 'acquire: timeoutMs NaN'],
    [{ timeoutMs: '5' }, 'acquire: timeoutMs "5"'],
    [{ signal: {} }, 'acquire: signal an object'],
    [{ cost: 0 }, 'cost 0'],
    [{ cost: 2 }, 'cost 2 is more than the capacity 1'],
  ])('refuses %j', async (options, message) => {
    const { limiter, take } = setup();
    await expect(limiter.acquire('k', TEN, options as never)).rejects.toThrow(message);
    expect(take).not.toHaveBeenCalled();
  });
});

describe('for(policy, key)', () => {
  it('is the same limiter with both settled', async () => {
    const { clock, limiter } = setup();
    const vendor = limiter.for(TEN, 'acme');
    expect(await vendor.consume()).toMatchObject({ key: 'acme', allowed: true });
    const done: string[] = [];
    const run = vendor.run(() => done.push('ran'));
    await clock.advanceAsync(99);
    expect(done).toEqual([]);
    await clock.advanceAsync(1);
    expect(await run).toBe(1);
    await vendor.pause(2000);
    expect(await limiter.peek('acme', TEN)).toMatchObject({ retryAfterMs: 2000 });
    const late = vendor.run(() => Promise.reject(new Error('upstream')));
    const outcome = Promise.allSettled([late]);
    await clock.advanceAsync(2000);
    expect(await outcome).toEqual([{ status: 'rejected', reason: new Error('upstream') }]);
  });

  it('finds what is wrong with the policy at once', () => {
    const { limiter } = setup();
    expect(() => limiter.for('nosuch')).toThrow('policy "nosuch" is not registered');
    expect(() => limiter.for(TEN, '')).toThrow('key "" is empty');
  });
});

describe('a warm-up', () => {
  // 100 ms warm, 300 ms cold, 20 stored permits between the two: Guava's SmoothWarmingUp with 4 s.
  const COLD = { rate: 10, capacity: 20, warmUpMs: 4000 };

  async function starts(clock: FakeClock, limiter: RateLimiter, calls: number): Promise<number[]> {
    const from = clock.monotonicMs();
    const atMs: number[] = [];
    for (let i = 0; i < calls; i++) {
      void limiter.acquire('k', COLD).then(() => atMs.push(clock.monotonicMs() - from));
    }
    await clock.advanceAsync(20_000);
    return atMs;
  }

  const gaps = (atMs: number[]) => atMs.slice(1).map((ms, i) => Math.round(ms - atMs[i]));

  it('begins at a third of the rate and is at the full rate after warmUpMs', async () => {
    const { clock, limiter } = setup();
    const atMs = await starts(clock, limiter, 26);
    expect(gaps(atMs)).toEqual([
      ...Array.from({ length: 20 }, (_, i) => 295 - 10 * i),
      ...Array.from({ length: 5 }, () => 100),
    ]);
    expect(Math.round(atMs[20])).toBe(4000);
  });

  it('is cold again after warmUpMs of silence, and half so after half of it', async () => {
    const { clock, limiter } = setup();
    await starts(clock, limiter, 60);
    // 26 s later than the last start: cold.
    expect(gaps(await starts(clock, limiter, 3))).toEqual([295, 285]);
  });

  it('refuses what cannot start in time, and charges nothing for it', async () => {
    const { clock, limiter, take } = setup();
    void limiter.acquire('k', COLD);
    await clock.advanceAsync(0);
    await expect(limiter.acquire('k', COLD, { timeoutMs: 290 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_WAIT_TOO_LONG',
    });
    expect(take).toHaveBeenCalledTimes(1);
    const controller = new AbortController();
    const aborted = watched(clock, limiter.acquire('k', COLD, { signal: controller.signal }));
    await clock.advanceAsync(100);
    controller.abort(new Error('gone'));
    await clock.advanceAsync(0);
    expect(aborted.error).toEqual(new Error('gone'));
    expect(take).toHaveBeenCalledTimes(1);
  });

  it('is for acquire alone', async () => {
    const { limiter } = setup();
    const message = 'warmUpMs 4000 is for acquire alone';
    await expect(limiter.consume('k', COLD)).rejects.toThrow(message);
    await expect(limiter.reserve('k', COLD)).rejects.toThrow(message);
    await expect(limiter.for(COLD).consume()).rejects.toThrow(message);
    await expect(limiter.for(COLD).run(() => 'ran')).resolves.toBe('ran');
    expect(() => new PolicyRegistry({ limit: COLD }, bucketNamer('rl'))).toThrow(message);
  });

  it.each([0, -1, NaN, 86_400_001, '5', null])('of %p ms is refused', async (warmUpMs) => {
    const { limiter } = setup();
    const call = limiter.acquire('k', { rate: 1, warmUpMs: warmUpMs as number });
    await expect(call).rejects.toThrow('limit: warmUpMs');
  });
});
