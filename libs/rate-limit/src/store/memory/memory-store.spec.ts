import { systemClock } from '../../core/clock';
import { InvalidLimitError } from '../../core/errors';
import { parseLimit, type Limit } from '../../core/limit';
import { FakeClock } from '../../testing';
import type { BucketCharge } from '../rate-limit-store';
import { MemoryStore } from './memory-store';

function charge(bucket: string, limit: Limit, cost = 1, place = 'p'): BucketCharge {
  const parsed = parseLimit(limit, 'test');
  return { bucket, place, limit: parsed, price: cost * 1000 * parsed.q, maxWaitUs: 0 };
}

const SLOW: Limit = { rate: 0.001, capacity: 2 };

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

describe('MemoryStore', () => {
  let clock: FakeClock;
  beforeEach(() => {
    clock = new FakeClock();
  });

  it('answers at once', () => {
    const store = new MemoryStore({ clock });
    expect(store.take([charge('a', { rate: 10, capacity: 20 })])).toEqual([
      { granted: true, waitUs: 0, credits: 1_900_000, fullInUs: 100_000 },
    ]);
    expect(store.peek([charge('a', { rate: 10, capacity: 20 })])[0]).toMatchObject({
      held: 1_900_000,
      known: true,
    });
    expect(store.reset(['a', 'unknown'])).toBeUndefined();
    expect(store.peek([charge('a', { rate: 10, capacity: 20 })])[0].known).toBe(false);
  });

  it('keeps a bucket only for what was charged', () => {
    const store = new MemoryStore({ clock });
    store.peek([charge('a', SLOW)]);
    store.take([charge('a', SLOW), charge('b', { rate: 1, capacity: 1 })]);
    expect(store.size).toBe(2);
    store.take([charge('c', SLOW), charge('b', { rate: 1, capacity: 1 })]); // b refuses
    expect(store.size).toBe(2);
  });

  it('keeps a bucket that a call under another algorithm was refused for, also when the clock went back', () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const leaky: Limit = { rate: 1, capacity: 1, algorithm: 'leaky-bucket' };
    store.take([charge('a', leaky)]);
    const [before] = store.peek([charge('a', leaky)]);
    const drained: Limit = { rate: 0.001, capacity: 1 };
    store.take([charge('b', drained)]);
    clock.set(clock.nowMs() - 1);
    store.take([charge('a', { rate: 1, capacity: 1 }), charge('b', drained)]); // b refuses
    expect(store.peek([charge('a', leaky)])[0].waitUs).toBe(before.waitUs + 1000);
  });

  it('uses the process clock by default, to the microsecond', () => {
    const store = new MemoryStore();
    const fast: Limit = { rate: 1e6, capacity: 1 };
    const milliseconds: number[] = [];
    for (let i = 0; i < 20_000; i++) {
      const granted = store.take([charge('a', fast)])[0].granted;
      if (granted) milliseconds.push(Math.floor(systemClock.monotonicMs()));
    }
    // A clock of whole ms grants one in each.
    expect(milliseconds.length).toBeGreaterThan(2 * new Set(milliseconds).size);
  });

  it.each([0, -1, 1.5, NaN, Infinity, 16_000_001, '10', null])(
    'refuses maxBuckets %p',
    (maxBuckets) => {
      expect(() => new MemoryStore({ maxBuckets: maxBuckets as number })).toThrow(
        InvalidLimitError,
      );
      expect(() => new MemoryStore({ maxBuckets: maxBuckets as number })).toThrow(
        'MemoryStore: maxBuckets',
      );
    },
  );

  describe('forgets', () => {
    it('full buckets as others arrive: a million keys, a flat size', () => {
      const store = new MemoryStore({ clock });
      const limit = charge('', { rate: 10, capacity: 20 });
      let largest = 0;
      for (let i = 0; i < 1_000_000; i++) {
        if (i % 10 === 0) clock.advance(1);
        store.take([{ ...limit, bucket: `key ${i}` }]);
        largest = Math.max(largest, store.size);
      }
      // Full after 100 ms: 1000 keys are alive at any time, and few more are kept.
      expect(largest).toBeLessThan(2000);
    });

    it('all of a burst, once it is over', () => {
      const store = new MemoryStore({ clock });
      for (let i = 0; i < 10_000; i++) store.take([charge(`burst ${i}`, { rate: 1, capacity: 2 })]);
      expect(store.size).toBe(10_000);
      clock.advance(1000);
      for (let i = 0; i < 5000; i++) store.take([charge(`later ${i}`, SLOW)]);
      expect(store.size).toBe(5000);
    });

    it('no bucket that is not full', () => {
      const store = new MemoryStore({ clock });
      store.take([charge('drained', { rate: 1, capacity: 2 }, 2)]);
      clock.advance(1999.999);
      for (let i = 0; i < 10_000; i++) store.take([charge(`key ${i}`, SLOW)]);
      expect(store.peek([charge('drained', { rate: 1, capacity: 2 })])[0].known).toBe(true);
      expect(store.size).toBe(10_001);
    });

    it('no bucket early because another one lives in the future', () => {
      const store = new MemoryStore({ clock });
      const drained = charge('drained', { rate: 1, capacity: 2 }, 2);
      store.take([charge('ahead', SLOW)]);
      clock.set(clock.nowMs() - 10_000);
      store.take([drained]);
      for (let i = 0; i < 20; i++)
        store.take([charge('ahead', SLOW, 0.001), charge(`key ${i}`, SLOW)]);
      expect(store.peek([drained])[0]).toMatchObject({ known: true, held: 0 });
    });

    it('no bucket whose limit became slower before it was full', () => {
      const store = new MemoryStore({ clock });
      const slower: Limit = { rate: 0.1, capacity: 2 };
      store.take([charge('a', { rate: 1, capacity: 2 }, 2)]);
      expect(store.take([charge('a', slower)])[0].granted).toBe(false);
      clock.advance(2000);
      for (let i = 0; i < 100; i++) store.take([charge(`key ${i}`, SLOW)]);
      expect(store.peek([charge('a', slower)])[0]).toMatchObject({ known: true, granted: false });
    });
  });

  describe('at its bound', () => {
    const maxBuckets = 1000;

    it('keeps no more buckets, whatever comes', () => {
      const store = new MemoryStore({ clock, maxBuckets });
      for (let i = 0; i < 1_000_000; i++) store.take([charge1(i)]);
      expect(store.size).toBe(maxBuckets + 1); // and the one that the others share
    });

    const slow = charge('', SLOW);
    const charge1 = (i: number) => ({ ...slow, bucket: `key ${i}` });

    it('lets no flood of made-up keys push a drained bucket out', () => {
      const store = new MemoryStore({ clock, maxBuckets });
      store.take([charge('drained', SLOW, 2)]);
      for (let i = 0; i < 10_000; i++) store.take([charge1(i)]);
      expect(store.take([charge('drained', SLOW)])[0].granted).toBe(false);
    });

    it('lets new keys of one place share a bucket, and says so in peek', () => {
      const store = new MemoryStore({ clock, maxBuckets });
      for (let i = 0; i < maxBuckets; i++) store.take([charge1(i)]);
      const granted = [1, 2, 3, 4].map((i) => store.take([charge(`new ${i}`, SLOW)])[0].granted);
      expect(granted).toEqual([true, true, false, false]);
      expect(store.peek([charge('new 5', SLOW)])[0].granted).toBe(false);
      expect(store.take([charge('new 5', SLOW, 1, 'elsewhere')])[0].granted).toBe(true);
      expect(store.take([charge('key 7', SLOW)])[0].granted).toBe(true);
    });

    it('charges every new key of a call', () => {
      const store = new MemoryStore({ clock, maxBuckets });
      for (let i = 0; i < maxBuckets; i++) store.take([charge1(i)]);
      const pair = (i: number) => [charge(`x ${i}`, SLOW), charge(`y ${i}`, SLOW)];
      const granted = [1, 2, 3].map((i) => store.take(pair(i)).every((each) => each.granted));
      expect(granted).toEqual([true, true, false]);
    });

    it('gives new keys their own buckets again once there is room', () => {
      const store = new MemoryStore({ clock, maxBuckets });
      for (let i = 0; i < maxBuckets; i++)
        store.take([charge(`short ${i}`, { rate: 1, capacity: 2 })]);
      for (let i = 0; i < 3; i++) store.take([charge(`early ${i}`, SLOW)]);
      clock.advance(1000);
      const granted = [1, 2, 3, 4].map((i) => store.take([charge(`new ${i}`, SLOW, 2)])[0].granted);
      expect(granted).toEqual([true, true, true, true]);
    });
  });

  describe('when nobody calls', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());
    const flooded = (count: number) => {
      const store = new MemoryStore({ clock });
      for (let i = 0; i < count; i++) store.take([charge(`key ${i}`, { rate: 1, capacity: 2 })]);
      return store;
    };

    it('has no timer while it is small', () => {
      flooded(10_000);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('forgets what a flood left behind, with one timer, until it is small', () => {
      const store = flooded(60_000);
      expect(jest.getTimerCount()).toBe(1);
      jest.advanceTimersByTime(10_000);
      expect([store.size, jest.getTimerCount()]).toEqual([60_000, 1]); // nothing is full yet
      clock.advance(1000);
      jest.advanceTimersByTime(3000);
      expect(store.size).toBeLessThanOrEqual(10_000);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('keeps what is not full', () => {
      const store = flooded(60_000);
      for (let i = 0; i < 20_000; i++) store.take([charge(`slow ${i}`, SLOW)]);
      clock.advance(1000);
      jest.advanceTimersByTime(10_000);
      expect(store.size).toBeGreaterThanOrEqual(20_000);
      expect(store.peek([charge('slow 7', SLOW)])[0].known).toBe(true);
      store.close();
      expect(jest.getTimerCount()).toBe(0);
    });
  });

  it('bounds the buckets of new keys as well, whoever chooses the places', () => {
    const store = new MemoryStore({ clock, maxBuckets: 100 });
    for (let i = 0; i < 100; i++) store.take([charge(`key ${i}`, SLOW)]);
    const granted = (place: string) =>
      store.take([charge(`new ${place}`, SLOW, 2, place)])[0].granted;
    expect(times(1000, (i) => granted(`p:scope${i}`)).every(Boolean)).toBe(true);
    expect(store.size).toBe(1100);
    // From here on all places share one, and those that have their own keep it.
    expect([granted('p:one'), granted('p:two'), granted('p:scope7')]).toEqual([true, false, false]);
    expect(store.size).toBe(1101);
  });

  it('lower: takes a bucket down to a level, never up', () => {
    const store = new MemoryStore({ clock });
    const a = charge('a', SLOW);
    const unit = a.limit.q * 1000;
    store.lower(a, 3 * unit);
    store.lower(a, 2 * unit);
    expect(store.size).toBe(0);
    store.lower(a, 0.5 * unit);
    expect(store.peek([a])[0].held).toBe(0.5 * unit);
    store.lower(a, 1.5 * unit);
    expect(store.peek([a])[0].held).toBe(0.5 * unit);
    store.lower(a, -unit);
    expect(store.take([a])[0]).toMatchObject({ granted: false, waitUs: 2e9 });
  });

  it('lower: makes no bucket at the bound', () => {
    const store = new MemoryStore({ clock, maxBuckets: 1 });
    store.take([charge('a', SLOW)]);
    store.lower(charge('b', SLOW), 0);
    expect(store.take([charge('b', SLOW)])[0].granted).toBe(true);
  });
});
