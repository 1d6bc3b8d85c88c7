// Law 11 of the queued limiter: what queued work claims of a policy's bucket. What each side gets in real time is judged
// in `timing/queue-shares.spec.ts`.
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { parseLimit } from '../../src/core/limit';
import { RedisStore } from '../../src/store/redis/redis-store';
import { QueueFarm } from '../support/queue-farm';
import { vendorBucket } from '../support/queue-setup';

const VENDOR = { rate: 100, capacity: 20 };

let farm: QueueFarm;
let redis: Redis;
afterEach(async () => {
  redis.disconnect();
  await farm.end();
});

async function sharing(share: number) {
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
  it('a claim of a job that was cancelled is given back to direct callers', async () => {
    await sharing(0.5);
    await farm.stopWorkers();
    const passed = await directCallers(500);
    expect(passed.length).toBeGreaterThan(20);
    await farm.work(1);
    const queue = farm.submitter();
    const ticket = await queue.submit({ n: 0 }, { maxWaitMs: 60_000 });
    await queue.pauseKey('all', 60_000);
    await ticket.cancel();
    await delay(300);
    // All that 300 ms refill, none of it owed to the cancelled one.
    const after = await directCallers(20);
    expect(after.length).toBeGreaterThanOrEqual(5);
  }, 30_000);

  it('a cost above the capacity of the share waits for all of it, and is paid in full', async () => {
    farm = await QueueFarm.create({ policy: { rate: 20, capacity: 10 }, share: 0.2 });
    redis = new Redis(farm.setup.redis);
    await farm.work(1);
    const queue = farm.submitter();
    // Capacity 2 and 4 a second for queued work: 8 tokens are two seconds of it.
    const first = await queue.submit({ n: 0 }, { cost: 8 });
    const next = await queue.submit({ n: 1 }, { cost: 2 });
    const starts = await farm.until(2);
    expect(starts.map(({ n }) => n)).toEqual(['0', '1']);
    // A start that is told late makes the gap smaller, so the due times are compared.
    expect(next.startsAt - first.startsAt).toBeGreaterThanOrEqual(1950);
    expect(next.startsAt - first.startsAt).toBeLessThanOrEqual(2050);
    expect(starts[1].atMs).toBeGreaterThan(next.startsAt - 50);
    await expect(queue.submit({ n: 2 }, { cost: 11 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_COST_EXCEEDS_CAPACITY',
    });
  }, 30_000);
});
