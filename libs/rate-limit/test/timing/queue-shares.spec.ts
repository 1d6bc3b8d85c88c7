// Law 11 of the queued limiter: queued work and direct callers share a policy's bucket, and neither starves.
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { parseLimit } from '../../src/core/limit';
import { RedisStore } from '../../src/store/redis/redis-store';
import { excess } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';
import { noteFigures } from '../support/queue-figures';
import { vendorBucket } from '../support/queue-setup';

const VENDOR = { rate: 100, capacity: 20 };

let farm: QueueFarm;
let redis: Redis;
afterEach(async () => {
  redis.disconnect();
  await farm.end();
});

async function sharing(share: number | undefined) {
  farm = await QueueFarm.create({ policy: VENDOR, share });
  redis = new Redis(farm.setup.redis);
  await farm.work(2);
}

/** Ten direct callers that ask every 2 ms each, for so long; when they were let through, in ms. */
async function directCallers(ms: number): Promise<number[]> {
  const store = new RedisStore(redis);
  const limit = parseLimit(VENDOR, 'vendor');
  const charge = {
    bucket: vendorBucket(farm.setup.keyPrefix, 'all'),
    place: 'vendor',
    limit,
    price: 1000 * limit.q,
    maxWaitUs: 0,
  };
  const passed: number[] = [];
  const endsMs = performance.now() + ms;
  const ask = async () => {
    while (performance.now() < endsMs) {
      const [outcome] = await store.take([charge]);
      if (outcome.granted) passed.push(performance.now());
      await delay(2);
    }
  };
  await Promise.all(Array.from({ length: 10 }, ask));
  return passed;
}

describe('law 11: shares', () => {
  const SECONDS = 3;

  it.each([0.5, 0.2, 0.9])(
    'with share %d, under full load from both sides each gets its part',
    async (share) => {
      await sharing(share);
      const queue = farm.submitter();
      await queue.submitMany(Array.from({ length: 600 }, (_, n) => ({ data: { n } })));
      // What the capacity let through at once is no part of the rate.
      await directCallers(1000);
      await farm.recorder.forget();
      const direct = (await directCallers(SECONDS * 1000)).length / SECONDS;
      const queued = (await farm.recorder.starts()).length / SECONDS;
      noteFigures(`law 11: share ${share}`, { direct, queued, rate: VENDOR.rate });
      expect(direct).toBeGreaterThanOrEqual(0.95 * (1 - share) * VENDOR.rate);
      expect(queued).toBeGreaterThanOrEqual(0.95 * share * VENDOR.rate);
      expect(direct + queued).toBeLessThanOrEqual(1.03 * VENDOR.rate);
    },
    30_000,
  );

  it('a backlog alone uses its share and no more; the default is a half', async () => {
    await sharing(undefined);
    await farm.submitter().submitMany(Array.from({ length: 300 }, (_, n) => ({ data: { n } })));
    const starts = await farm.until(160);
    const times = starts.map(({ atMs }) => atMs);
    const ahead = excess(times, { capacity: 10, ratePerMs: 0.05 });
    const { stallMs } = await farm.tally();
    const used = (times.length - 10) / (Math.max(...times) - Math.min(...times)) / 0.05;
    noteFigures('law 11: backlog alone', { ahead, used });
    expect(ahead).toBeLessThanOrEqual(1 + 0.05 * (25 + stallMs));
    expect(used).toBeGreaterThanOrEqual(0.95);
  }, 30_000);
});
