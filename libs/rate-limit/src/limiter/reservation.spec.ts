// How reservations end when something changed since: the limit, the bucket, or whether the store is there.
import { bucketNamer } from '../core/bucket-key';
import { StoreUnavailableError, UnsupportedOperationError } from '../core/errors';
import { MemoryStore } from '../store/memory/memory-store';
import type { RateLimitStore } from '../store/rate-limit-store';
import { ResilientStore } from '../store/resilient/resilient-store';
import { FakeClock } from '../testing';
import { LimiterEmitter } from './events';
import { PolicyRegistry } from './policy-registry';
import { RateLimiter } from './rate-limiter';

const FAST = { rate: 10, capacity: 20 };
/** Counted in other credits, and with more room. */
const THIRDS = { rate: 1 / 3, capacity: 200 };

function limiterOn(store: RateLimitStore, clock: FakeClock): RateLimiter {
  return new RateLimiter(
    new ResilientStore(store, { timeoutMs: 250, clock }),
    new PolicyRegistry({ policies: { live: FAST } }, bucketNamer('rl')),
    new LimiterEmitter(),
    clock,
  );
}

function setup() {
  const clock = new FakeClock();
  const memory = new MemoryStore({ clock });
  let out = false;
  const may = <T>(answer: () => T) => {
    if (out) throw new Error('Connection is closed.');
    return answer();
  };
  const store: RateLimitStore = {
    source: 'shared',
    take: (charges) => may(() => memory.take(charges)),
    peek: (charges) => may(() => memory.peek(charges)),
    giveBack: (grants) => may(() => memory.giveBack(grants)),
    adjust: (adjustments) => may(() => memory.adjust(adjustments)),
    reset: (buckets) => may(() => memory.reset(buckets)),
  };
  const limiter = limiterOn(store, clock);
  const left = async () => (await limiter.getInfo('k', 'live'))?.available;
  return { clock, limiter, left, setOut: (now: boolean) => (out = now) };
}

describe('numbers that change between reserving and settling', () => {
  it.each([
    [10, 110],
    [4, 116],
    [0, 120],
    [13, 107],
  ])('settle(%d) counts tokens, not the credits of then', async (actual, expected) => {
    const { limiter, left } = setup();
    const reserved = await limiter.reserve('k', 'live', { cost: 10 });
    limiter.setPolicy('live', THIRDS);
    await limiter.refund('k', 'live', 100);
    expect(await left()).toBe(110);
    await reserved.settle(actual);
    expect(await left()).toBe(expected);
  });

  it('cancel gives back tokens, and takes none of the room that came since', async () => {
    const { limiter, left } = setup();
    const reserved = await limiter.reserve('k', 'live', { cost: 10 });
    limiter.setPolicy('live', THIRDS);
    await limiter.refund('k', 'live', 100);
    await reserved.cancel();
    expect(await left()).toBe(120);
  });

  it('so does an acquire that is aborted', async () => {
    const { clock, limiter, left } = setup();
    await limiter.consume('k', 'live', { cost: 15 });
    const controller = new AbortController();
    const call = limiter.acquire('k', 'live', { cost: 10, signal: controller.signal });
    const outcome = Promise.allSettled([call]);
    await clock.advanceAsync(0);
    limiter.setPolicy('live', THIRDS);
    await limiter.refund('k', 'live', 100);
    controller.abort();
    await outcome;
    expect(await left()).toBe(105);
  });
});

it('charges of one bucket are settled by their sum', async () => {
  const { clock, limiter, left } = setup();
  const charge = { key: 'k', limit: 'live', cost: 5 };
  const reserved = await limiter.reserveAll([charge, charge]);
  clock.advance(800);
  expect(await left()).toBe(18);
  // Returned and taken one after the other, the return would spill over the brim.
  await reserved.settle([0, 10]);
  expect(await left()).toBe(18);
});

describe('without the shared store', () => {
  const calls: [string, (limiter: RateLimiter) => Promise<unknown>][] = [
    ['reserve', (l) => l.reserve('k', 'live')],
    ['reserveAll', (l) => l.reserveAll([{ key: 'k', limit: 'live' }])],
    ['withBudget', (l) => l.withBudget([{ key: 'k', limit: 'live' }], {}, () => 'ran')],
    ['refund', (l) => l.refund('k', 'live', 1)],
    ['penalize', (l) => l.penalize('k', 'live', 1)],
    ['reset', (l) => l.reset('k', 'live')],
  ];
  it.each(calls)('%s fails', async (_, call) => {
    const { limiter, setOut } = setup();
    setOut(true);
    await expect(call(limiter)).rejects.toThrow(StoreUnavailableError);
  });

  it('settle fails, is not tried again, and the estimate stays charged', async () => {
    const { limiter, left, setOut } = setup();
    const reserved = await limiter.reserve('k', 'live', { cost: 10 });
    setOut(true);
    await expect(reserved.settle(1)).rejects.toThrow(StoreUnavailableError);
    setOut(false);
    await expect(reserved.settle(1)).rejects.toThrow(StoreUnavailableError);
    await expect(reserved.cancel()).rejects.toThrow(StoreUnavailableError);
    expect(await left()).toBe(10);
  });

  it('cancel leaves it charged', async () => {
    const { limiter, left, setOut } = setup();
    const reserved = await limiter.reserve('k', 'live', { cost: 10 });
    setOut(true);
    await reserved.cancel();
    setOut(false);
    await reserved.cancel();
    expect(await left()).toBe(10);
  });

  describe('withBudget keeps what the work gave', () => {
    const charges = [{ key: 'k', limit: 'live', cost: 10 }];

    it('its result', async () => {
      const { limiter, left, setOut } = setup();
      const result = limiter.withBudget(charges, {}, (hold) => {
        hold.used(1);
        setOut(true);
        return 'a dear answer';
      });
      expect(await result).toBe('a dear answer');
      setOut(false);
      expect(await left()).toBe(10);
    });

    it('its error', async () => {
      const { limiter, setOut } = setup();
      const result = limiter.withBudget(charges, {}, (hold) => {
        hold.used(1);
        setOut(true);
        throw new Error('upstream');
      });
      await expect(result).rejects.toThrow('upstream');
    });

    it('the reason of its signal', async () => {
      const { clock, limiter, setOut } = setup();
      await limiter.consume('k', 'live', { cost: 20 });
      const controller = new AbortController();
      const result = limiter.withBudget(charges, { signal: controller.signal }, () => 'ran');
      const outcome = Promise.allSettled([result]);
      await clock.advanceAsync(0);
      setOut(true);
      controller.abort(new Error('gone'));
      expect(await outcome).toEqual([{ status: 'rejected', reason: new Error('gone') }]);
    });
  });
});

it('a store that cannot settle is found before the work is done', async () => {
  const memory = new MemoryStore();
  const store: RateLimitStore = {
    source: 'memory',
    take: (charges) => memory.take(charges),
    peek: (charges) => memory.peek(charges),
    reset: (buckets) => memory.reset(buckets),
  };
  const limiter = limiterOn(store, new FakeClock());
  const fn = jest.fn();
  const call = limiter.withBudget([{ key: 'k', limit: 'live' }], {}, fn);
  await expect(call).rejects.toThrow(UnsupportedOperationError);
  expect(fn).not.toHaveBeenCalled();
  expect(await limiter.getInfo('k', 'live')).toBeNull();
});

describe('what is no function is found before anything is charged', () => {
  it.each([undefined, null, 'fn', {}])('%p', async (fn) => {
    const { limiter, left } = setup();
    const charges = [{ key: 'k', limit: 'live' }];
    await expect(limiter.withBudget(charges, {}, fn as never)).rejects.toThrow('withBudget: fn');
    await expect(limiter.for('live', 'k').run(fn as never)).rejects.toThrow('run: fn');
    expect(await left()).toBeUndefined();
  });
});
