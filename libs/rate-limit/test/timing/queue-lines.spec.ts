// Laws 5 and 6 of the queued limiter: keys do not stand in each other's way, and one key's jobs keep their order.
import { setTimeout as delay } from 'node:timers/promises';
import { inversions, percentile } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';
import { noteFigures } from '../support/queue-figures';

let farm: QueueFarm;
afterEach(() => farm.end());

const BACKLOG = 10_000;

async function backlog(changes: { maxWaitMs?: number } = {}) {
  const queue = farm.submitter();
  await queue.submitMany(
    Array.from({ length: BACKLOG }, (_, n) => ({ data: { n, key: 'a' }, ...changes })),
  );
}

/** How late jobs of key b start, one every 60 ms, in ms after their submission. */
async function probes(count: number): Promise<number[]> {
  const queue = farm.submitter();
  await queue.counts();
  const sentMs: number[] = [];
  for (let i = 0; i < count; i++) {
    sentMs[i] = performance.timeOrigin + performance.now();
    await queue.submit({ n: i, key: 'b' });
    await delay(60);
  }
  await delay(200);
  const starts = await farm.recorder.starts();
  const late = starts.flatMap(({ n, key, atMs }) =>
    key === 'b' ? [atMs - sentMs[Number(n)]] : [],
  );
  expect(late).toHaveLength(count);
  return late;
}

async function expectUnaffected(what: string, late: number[]) {
  const { stallMs } = await farm.tally();
  noteFigures(`law 5: ${what}`, {
    p50: percentile(late, 0.5),
    max: Math.max(...late),
    stallMs,
  });
  expect(percentile(late, 0.5)).toBeLessThanOrEqual(50);
  // The worst may meet a stall of the machine.
  expect(percentile(late, 0.9)).toBeLessThanOrEqual(50 + stallMs);
}

describe('law 5: no head-of-line blocking', () => {
  it('a backlog of 10 000 of one key leaves another key on time', async () => {
    farm = await QueueFarm.create({ keyed: true, rate: 50, capacity: 10, maxQueue: BACKLOG });
    await farm.work(2);
    await backlog();
    await expectUnaffected('10 000 wait', await probes(30));
  }, 60_000);

  it('nor one that grew while all workers were down', async () => {
    farm = await QueueFarm.create({ keyed: true, rate: 50, capacity: 10, maxQueue: BACKLOG });
    await farm.work(1);
    await farm.stopWorkers();
    await backlog();
    await farm.work(2);
    await expectUnaffected('10 000 came due while down', await probes(30));
  }, 60_000);

  it('nor one whose deadlines have all passed', async () => {
    farm = await QueueFarm.create({ keyed: true, rate: 5000, capacity: 10, maxQueue: BACKLOG });
    await farm.work(1);
    await farm.stopWorkers();
    await backlog({ maxWaitMs: 10_000 });
    await delay(10_000);
    await farm.work(2);
    await expectUnaffected('10 000 expired while down', await probes(30));
    const starts = await farm.recorder.starts();
    expect(starts.filter(({ key }) => key === 'a').length).toBeLessThanOrEqual(10);
  }, 60_000);

  it('one key does not fill the concurrency with slow jobs', async () => {
    farm = await QueueFarm.create({
      keyed: true,
      rate: 1000,
      capacity: 100,
      worker: { concurrency: 5 },
    });
    await farm.work(2);
    const queue = farm.submitter();
    await queue.submitMany(
      Array.from({ length: 50 }, (_, n) => ({ data: { n, key: 'a', ms: 5000 } })),
    );
    await delay(1000);
    const running = (await farm.recorder.starts()).length;
    expect(running).toBe(8);
    await expectUnaffected('slow jobs of another key', await probes(15));
  }, 60_000);

  it('50 keys of 5 jobs at one a second take as long as one key', async () => {
    farm = await QueueFarm.create({
      keyed: true,
      rate: 1,
      capacity: 1,
      worker: { concurrency: 2 },
    });
    await farm.work(2);
    const items = Array.from({ length: 250 }, (_, n) => ({ data: { n, key: `key-${n % 50}` } }));
    await farm.submitter().submitMany(items);
    const starts = await farm.until(250);
    const times = starts.map(({ atMs }) => atMs);
    const tookMs = Math.max(...times) - Math.min(...times);
    noteFigures('law 5: 50 keys', { tookMs });
    expect(tookMs).toBeGreaterThan(3900);
    expect(tookMs).toBeLessThan(5000);
  }, 30_000);

  it('paces 500 keys at once, each on time', async () => {
    farm = await QueueFarm.create({ keyed: true, rate: 1, capacity: 1 });
    await farm.work(2);
    const items = Array.from({ length: 1500 }, (_, n) => ({ data: { n, key: `key-${n % 500}` } }));
    const tickets = await farm.submitter().submitMany(items);
    const starts = await farm.until(1500);
    const late = starts.map(({ n, atMs }) => atMs - tickets[Number(n)].startsAt);
    noteFigures('law 5: 500 keys', { p50: percentile(late, 0.5), max: Math.max(...late) });
    // 500 starts at one moment are what the machine makes of them; they must not pile up.
    expect(Math.max(...late)).toBeLessThanOrEqual(1000);
  }, 30_000);
});

describe('law 6: first in, first out within a key', () => {
  /** Charged in the order of submission; `places` tells a job's. */
  async function expectInOrder(ids: string[]) {
    const places = new Map(ids.map((id, place) => [id, place]));
    const { grants, charges } = await farm.tally();
    const granted = grants.flatMap(({ ids }) => ids.map((id) => places.get(id) as number));
    expect(granted.length).toBeGreaterThan(ids.length / 2);
    expect(inversions(granted)).toBe(0);
    return inversions(charges.map(({ id }) => places.get(id) as number));
  }

  it('by the order of charging, however many workers there are', async () => {
    farm = await QueueFarm.create({ rate: 200, capacity: 20 });
    await farm.work(2, { workers: 2 });
    const tickets = await farm
      .submitter()
      .submitMany(Array.from({ length: 400 }, (_, n) => ({ data: { n } })));
    await farm.until(400);
    const startInversions = await expectInOrder(tickets.map(({ id }) => id));
    noteFigures('law 6: 200/s', { startInversions });
  }, 30_000);

  it('starts one after the other at capacity 1: also those that come while others wait', async () => {
    farm = await QueueFarm.create({ rate: 20, capacity: 1, worker: { concurrency: 5 } });
    await farm.work(2);
    const queue = farm.submitter();
    await queue.submitMany(Array.from({ length: 30 }, (_, n) => ({ data: { n } })));
    await farm.until(10);
    await queue.submit({ n: 30 });
    const starts = await farm.until(31);
    expect(starts.map(({ n }) => Number(n))).toEqual(Array.from({ length: 31 }, (_, n) => n));
  }, 30_000);

  it('a retried job keeps its place before those behind it', async () => {
    farm = await QueueFarm.create({ rate: 20, capacity: 1, job: { attempts: 2 } });
    await farm.work(1);
    await farm
      .submitter()
      .submitMany(
        Array.from({ length: 10 }, (_, n) => ({ data: { n, failures: n === 0 ? 1 : 0 } })),
      );
    const starts = await farm.until(11);
    const order = starts.map(({ n }) => Number(n));
    // Its second attempt comes as soon as the token does; one job may be on its way already.
    expect(order.lastIndexOf(0)).toBeLessThanOrEqual(2);
    expect(inversions(order.filter((n) => n !== 0))).toBe(0);
  }, 30_000);
});
