// The algorithms beside the token bucket: the memory store, the scripts on a real Redis and the definitions themselves
// say the same, and what each promises holds. The definitions are told from a log of what was admitted, in whole numbers
// of any size: no code of theirs is the library's.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { AlgorithmName, Limit, ParsedLimit } from '../../src/core/limit';
import { MemoryStore } from '../../src/store/memory/memory-store';
import type { BucketCharge } from '../../src/store/rate-limit-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';
import { charge, parsed, retryAfterMs } from './subject';

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

type Other = Exclude<AlgorithmName, 'token-bucket'>;
const OTHERS: Other[] = ['sliding-window', 'fixed-window', 'leaky-bucket'];

/** Something that was admitted: when it came, and its cost in thousandths of a token. */
interface Start {
  readonly atUs: bigint;
  readonly cost: bigint;
}

/** Whether a cost may start now. */
type Definition = (log: readonly Start[], limit: ParsedLimit, cost: bigint, now: bigint) => boolean;

const sum = (starts: readonly Start[]) => starts.reduce((all, { cost }) => all + cost, 0n);
const inWindow = (log: readonly Start[], index: bigint, length: bigint) =>
  log.filter(({ atUs }) => atUs / length === index);

const DEFINITIONS: Record<'sliding-window' | 'fixed-window', Definition> = {
  'fixed-window': (log, { n, capacity }, cost, now) =>
    sum(inWindow(log, now / BigInt(n), BigInt(n))) + cost <= BigInt(capacity),
  'sliding-window'(log, { n, capacity }, cost, now) {
    const length = BigInt(n);
    const index = now / length;
    const covered = length - (now % length);
    const before = sum(inWindow(log, index - 1n, length));
    const current = sum(inWindow(log, index, length));
    return before * covered + (current + cost) * length <= BigInt(capacity) * length;
  },
};

/** Credits that the lane has to work off: each start occupies it for cost/rate. */
function laneLeft(log: readonly Start[], { n, q }: ParsedLimit, now: bigint): bigint {
  // The credits that the lane has to work off at `now`, from the exact times in credits: at·n + cost·q.
  let freeAt = 0n;
  let busySince = 0n;
  for (const { atUs, cost } of log) {
    busySince = busySince + freeAt > atUs * BigInt(n) ? busySince + freeAt : atUs * BigInt(n);
    freeAt = cost * BigInt(q);
  }
  const left = busySince + freeAt - now * BigInt(n);
  return left < 0n ? 0n : left;
}

const everyday = (algorithm: Other): fc.Arbitrary<ParsedLimit> =>
  fc
    .record({
      rate: fc.oneof(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1000, max: 20_000 }).map((k) => k / 1000),
      ),
      per: fc.constantFrom<Limit['per']>('second', 'minute', 250, 'hour'),
      burst: fc.integer({ min: 1, max: 50 }),
    })
    .map(({ rate, per, burst }) =>
      parsed({ rate, per, algorithm, ...(algorithm === 'leaky-bucket' && { capacity: burst }) }),
    );

interface Step {
  readonly passes: number;
  readonly raw: number;
  readonly patient: boolean;
}
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    // A part of a window, or of the time in which the lane is worked off.
    passes: fc.oneof(
      { weight: 2, arbitrary: fc.constant(0) },
      fc.nat(64).map((parts) => parts / 32),
    ),
    raw: fc.nat(1e9),
    patient: fc.boolean(),
  }),
  { minLength: 10, maxLength: 24, size: 'max' },
);

const spanMs = ({ algorithm, n, q, capacity }: ParsedLimit) =>
  algorithm === 'leaky-bucket' ? capacity / n / 1000 : (n / 1000) * (q > 0 ? 1 : 0);

/** Most of the limit, one token, a thousandth, or anything between. */
function costOf({ capacityTokens }: ParsedLimit, raw: number): number {
  const most = Math.floor(capacityTokens * 1000);
  const costs = [most, 1000, 1, 1 + (raw % most), 1 + (raw % Math.ceil(most / 3))];
  return Math.min(most, costs[raw % 5]) / 1000;
}

function advance(clock: FakeClock, limit: ParsedLimit, passes: number): void {
  clock.advance(Math.floor(passes * spanMs(limit) * 8) / 8);
}

const nowOf = (clock: FakeClock) => BigInt(Math.floor(clock.nowMs() * 1000));
const thousandths = ({ price, limit }: BucketCharge) => BigInt(price / limit.q);

describe.each(OTHERS)('%s', (algorithm) => {
  it('says what its definition says, of 100 000 charges', () => {
    let asked = 0;
    let refused = 0;
    fc.assert(
      fc.property(everyday(algorithm), steps, (limit, history) => {
        const clock = new FakeClock();
        const store = new MemoryStore({ clock });
        const log: Start[] = [];
        for (const { passes, raw, patient } of history) {
          advance(clock, limit, passes);
          const now = nowOf(clock);
          const maxWaitUs =
            algorithm === 'leaky-bucket' && patient ? 1 + (raw % (limit.n > 0 ? 5e6 : 1)) : 0;
          const one = charge(limit, costOf(limit, raw), 'b', maxWaitUs);
          const [said] = store.take([one]);
          asked++;
          let right: boolean;
          if (algorithm === 'leaky-bucket') {
            const left = laneLeft(log, limit, now);
            const wait = (left + BigInt(limit.n) - 1n) / BigInt(limit.n);
            if (BigInt(said.waitUs) !== wait) throw new Error(`wait ${said.waitUs}, not ${wait}`);
            if (said.granted) log.push({ atUs: now, cost: thousandths(one) });
            // No more than the capacity may wait.
            right = wait <= BigInt(maxWaitUs) && left <= BigInt(limit.capacity);
          } else {
            right = DEFINITIONS[algorithm](log, limit, thousandths(one), now);
            if (said.granted) log.push({ atUs: now, cost: thousandths(one) });
          }
          if (!said.granted) refused++;
          if (said.granted !== right)
            throw new Error(`${algorithm}: granted ${said.granted}, by the definition ${right}`);
        }
      }),
      { numRuns: 6500 },
    );
    expect(asked).toBeGreaterThan(100_000);
    expect(refused).toBeGreaterThan(asked / 10);
  }, 180_000);

  it('keeps its promise: refused 1 ms before, granted after exactly what was said', () => {
    let refusals = 0;
    fc.assert(
      fc.property(everyday(algorithm), steps, (limit, history) => {
        const clock = new FakeClock();
        const store = new MemoryStore({ clock });
        for (const { passes, raw } of history) {
          advance(clock, limit, passes);
          const one = charge(limit, costOf(limit, raw));
          const [said] = store.take([one]);
          if (said.granted) continue;
          refusals++;
          const waitMs = retryAfterMs(said);
          const startMs = clock.nowMs();
          clock.set(startMs + waitMs - 1);
          if (waitMs > 1 && store.peek([one])[0].granted)
            throw new Error(`granted 1 ms early, of ${waitMs}`);
          clock.set(startMs + waitMs);
          if (!store.peek([one])[0].granted)
            throw new Error(`refused after the ${waitMs} ms it was told`);
          clock.set(startMs);
        }
      }),
      { numRuns: 5000 },
    );
    expect(refusals).toBeGreaterThan(10_000);
  }, 180_000);

  it('says the same in memory and in Redis: charges, looks, returns, corrections, changed limits, clocks that step', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(
        everyday(algorithm),
        everyday(algorithm),
        steps,
        async (first, second, history) => {
          const clock = new FakeClock();
          const bucket = uniquePrefix();
          const memory = new MemoryStore({ clock });
          const shared = redisStoreOn(clock, redis);
          let limit = first;
          const taken: [ofRedis: unknown, ofMemory: unknown][] = [];
          for (const { passes, raw, patient } of history) {
            if (raw % 17 === 0) limit = limit === first ? second : first;
            if (raw % 23 === 0) clock.set(clock.nowMs() - Math.floor(3 * passes * spanMs(limit)));
            advance(clock, limit, passes);
            const wait = algorithm === 'leaky-bucket' && patient ? 2e6 : 0;
            const one = charge(limit, costOf(limit, raw), bucket, wait);
            const what = raw % 8;
            if (what === 6) {
              const back = { ...one, startsAtUs: Math.floor(clock.nowMs() * 1000) + (raw % 1000) };
              memory.giveBack([back]);
              await shared.giveBack([back]);
            } else if (what === 7) {
              const by = [{ bucket, place: 'p', limit, credits: patient ? one.price : -one.price }];
              memory.adjust(by);
              await shared.adjust(by);
            } else {
              taken.push([await shared.take([one]), memory.take([one])]);
            }
            taken.push([await shared.peek([one]), memory.peek([one])]);
            compared++;
          }
          expect(taken.map(([ofRedis]) => ofRedis)).toEqual(taken.map(([, ofMemory]) => ofMemory));
        },
      ),
      { numRuns: 600 },
    );
    expect(compared).toBeGreaterThan(9000);
  }, 120_000);

  it('charges several buckets together, or none', async () => {
    const clock = new FakeClock();
    const tag = `{${uniquePrefix()}}`;
    const limit = parsed({
      rate: 2,
      per: 'minute',
      algorithm,
      ...(algorithm === 'leaky-bucket' && { capacity: 2 }),
    });
    const tokens = parsed({ rate: 0.001, capacity: 1 });
    for (const store of [new MemoryStore({ clock }), redisStoreOn(clock, redis)]) {
      const both = [charge(limit, 1, `${tag}a`), charge(tokens, 1, `${tag}b`)];
      expect((await store.take(both)).map(({ granted }) => granted)).toEqual([true, true]);
      clock.advance(30_000);
      expect((await store.take(both)).map(({ granted }) => granted)).toEqual([true, false]);
      // The one that would have granted was not charged.
      expect((await store.take([both[0]]))[0].granted).toBe(true);
      clock.advance(3_600_000);
    }
  });
});

it('a bucket whose algorithm changed starts full, and a token bucket keeps its tokens beside', async () => {
  const clock = new FakeClock();
  for (const store of [new MemoryStore({ clock }), redisStoreOn(clock, redis)]) {
    const bucket = uniquePrefix();
    const all: AlgorithmName[] = ['token-bucket', ...OTHERS, 'token-bucket'];
    for (const algorithm of all) {
      const limit = parsed({
        rate: 5,
        per: 'hour',
        algorithm,
        ...(algorithm.endsWith('bucket') && { capacity: 5 }),
      });
      const one = charge(limit, 5, bucket);
      expect((await store.peek([one]))[0]).toMatchObject({ granted: true, known: false });
      expect((await store.take([one]))[0].granted).toBe(true);
    }
  }
});

describe.each(['sliding-window', 'fixed-window'] as const)(
  '%s under two limits at once, as during a deployment',
  (algorithm) => {
    it('what comes back through the smaller limit frees no more than that', async () => {
      const clock = new FakeClock();
      for (const store of [new MemoryStore({ clock }), redisStoreOn(clock, redis)]) {
        const bucket = uniquePrefix();
        const [large, small] = [100, 50].map((rate) => parsed({ rate, per: 'hour', algorithm }));
        await store.take([charge(large, 80, bucket)]);
        const { limit, place } = charge(small, 1, bucket);
        await store.adjust([{ bucket, place, limit, credits: 10_000 }]);
        expect((await store.peek([charge(large, 1, bucket)]))[0].held).toBe(30_000);
        expect((await store.peek([charge(small, 1, bucket)]))[0].granted).toBe(false);
      }
    });

    it('periods that differ by a little let through no more than twice the limit a period', () => {
      const clock = new FakeClock();
      const store = new MemoryStore({ clock });
      const limits = [60_000, 61_000].map((per) => parsed({ rate: 20, per, algorithm }));
      let passed = 0;
      for (let second = 0; second < 3600; second++) {
        for (const limit of limits) while (store.take([charge(limit, 1)])[0].granted) passed++;
        clock.advance(1000);
      }
      // One of them alone lets 1200 through in an hour, and 20 more around its edges.
      expect(passed).toBeLessThanOrEqual(1300);
    });
  },
);

describe('the most that passes in any window of one period', () => {
  const LIMIT = 20;
  const WINDOW_MS = 1000;

  /** Looks for the worst by trying: bursts at all pairs of moments around the ends of windows, greedy in between. */
  function worst(algorithm: AlgorithmName): number {
    const limit = parsed({
      rate: LIMIT,
      per: WINDOW_MS,
      algorithm,
      ...(algorithm.endsWith('bucket') && { capacity: LIMIT }),
    });
    let most = 0;
    for (let first = 0; first < WINDOW_MS; first += 9) {
      const clock = new FakeClock();
      const store = new MemoryStore({ clock });
      const passed: number[] = [];
      const start = clock.nowMs();
      // Nothing, then all that can pass from `first` on, asked every 4 ms for two and a half windows.
      for (let ms = first; ms < first + 2.5 * WINDOW_MS; ms += 4) {
        clock.set(start + ms);
        while (store.take([charge(limit, 1)])[0].granted) passed.push(ms);
      }
      for (let from = 0, to = 0; to < passed.length; to++) {
        while (passed[to] - passed[from] >= WINDOW_MS) from++;
        most = Math.max(most, to - from + 1);
      }
    }
    return most;
  }

  it.each<[AlgorithmName, number]>([
    ['token-bucket', 2 * LIMIT],
    ['sliding-window', 2 * LIMIT - 1],
    ['fixed-window', 2 * LIMIT],
    ['leaky-bucket', LIMIT],
  ])('%s: found at most %d of 20', (algorithm, bound) => {
    const found = worst(algorithm);
    expect(found).toBeLessThanOrEqual(bound);
    expect(found).toBeGreaterThanOrEqual(algorithm === 'sliding-window' ? LIMIT + 5 : bound - 1);
  });
});
