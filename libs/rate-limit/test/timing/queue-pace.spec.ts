// Laws 1 and 2 of the queued limiter: starts never run ahead of the limit, and nothing is left unused.
// Starts are what a service in another process sees; charges are what Redis decided, by its clock.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { excess, excessCredits } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';
import { noteFigures } from '../support/queue-figures';
import { RedisServer } from '../support/redis-server';

const TOLERANCE_MS = 25;
/** After a submission that kept the machine busy. */
const SETTLE_MS = 500;
/** `npm run soak:queue` runs the same at full length. */
const FULL = process.env.QUEUE_SOAK === '1';

let farm: QueueFarm;
afterEach(() => farm.end());

async function submitAll(count: number, from = 0) {
  const queue = farm.submitter();
  await queue.submitMany(Array.from({ length: count }, (_, i) => ({ data: { n: from + i } })));
}

/** Jobs one by one, so many a second. */
async function trickle(count: number, perSecond: number, from: number) {
  const queue = farm.submitter();
  const startMs = performance.now();
  for (let i = 0; i < count; i++) {
    await queue.submit({ n: from + i });
    const nextMs = startMs + ((i + 1) * 1000) / perSecond;
    await delay(Math.max(0, nextMs - performance.now()));
  }
}

async function expectLawOne(timesMs: number[], rate: number, capacity: number) {
  const envelope = { capacity, ratePerMs: rate / 1000 };
  const ahead = excess(timesMs, envelope);
  const { charges, stallMs } = await farm.tally();
  noteFigures(`law 1: ${expect.getState().currentTestName}`, {
    starts: timesMs.length,
    excessOfStarts: ahead,
    stallMs,
    excessOfChargesInCredits: excessCredits(charges, farm.envelope),
  });
  expect(charges).toHaveLength(timesMs.length);
  expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
  // What a process was stalled after it had paid, nothing can take back.
  expect(ahead).toBeLessThanOrEqual(1 + (rate / 1000) * (TOLERANCE_MS + stallMs));
}

describe('law 1: charges never run ahead of capacity + rate × time, starts by no more than the tolerance', () => {
  it.each([
    { rate: 50, capacity: 10, jobs: FULL ? 1000 : 150, slow: 30 },
    { rate: 500, capacity: 10, jobs: FULL ? 3000 : 1800, slow: 200 },
    { rate: 500, capacity: 100, jobs: FULL ? 3000 : 1800, slow: 200 },
    { rate: 2, capacity: 2, jobs: FULL ? 20 : 7, slow: 3 },
  ])(
    'at $rate a second, capacity $capacity: 3 workers in 2 processes, a backlog of $jobs and jobs that trickle in',
    async ({ rate, capacity, jobs, slow }) => {
      farm = await QueueFarm.create({ rate, capacity });
      await Promise.all([farm.work(1, { workers: 2 }), farm.work(1)]);
      await Promise.all([submitAll(jobs), trickle(slow, rate, jobs)]);
      const submittedMs = performance.timeOrigin + performance.now();
      const starts = await farm.until(jobs + slow, 60_000);
      const timesMs = starts.map(({ atMs }) => atMs);
      await expectLawOne(timesMs, rate, capacity);
      // Law 2: the backlog is worked off without a gap. Judged from when the submitter no longer competes
      // for the cores, and what piled up meanwhile has started.
      const lastMs = Math.max(...timesMs);
      const fromMs = submittedMs + SETTLE_MS;
      const used = timesMs.filter((ms) => ms > fromMs).length / ((lastMs - fromMs) / 1000) / rate;
      noteFigures('law 2', {
        rate,
        capacity,
        used,
        usedFromTheFirst:
          (jobs + slow - capacity) / ((lastMs - Math.min(...timesMs)) / 1000) / rate,
      });
      expect(used).toBeGreaterThanOrEqual(0.98);
    },
    120_000,
  );

  it('when nobody waits: jobs come one by one, slower than the burst and faster than the rate', async () => {
    farm = await QueueFarm.create({ rate: 5, capacity: 10 });
    await farm.work(2);
    await trickle(30, 100, 0);
    const starts = await farm.until(30, 20_000);
    await expectLawOne(
      starts.map(({ atMs }) => atMs),
      5,
      10,
    );
  }, 60_000);

  it('after all workers were down with a backlog, and jobs that were let start unseen', async () => {
    farm = await QueueFarm.create({ rate: 50, capacity: 10 });
    await farm.work(2);
    await farm.stopWorkers();
    await submitAll(120);
    await delay(FULL ? 10_000 : 2000);
    await farm.work(2);
    const starts = await farm.until(120, 30_000);
    await expectLawOne(
      starts.map(({ atMs }) => atMs),
      50,
      10,
    );
  }, 60_000);

  it('after the limit was halved in the middle', async () => {
    farm = await QueueFarm.create({ rate: 50, capacity: 10 });
    await farm.work(2);
    await submitAll(200);
    await farm.until(60);
    await farm.stopWorkers();
    const before = (await farm.recorder.starts()).length;
    await farm.work(2, { rate: 25, capacity: 5 });
    const starts = await farm.until(before + 60);
    const timesMs = starts.map(({ atMs }) => atMs);
    const { charges } = await farm.tally();
    // Under the old numbers throughout, and under the new ones from the change on.
    expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
    const after = charges.slice(before);
    const halved = {
      ...farm.envelope,
      n: farm.envelope.n / 2,
      capacity: farm.envelope.capacity / 2,
    };
    expect(excessCredits(after, halved)).toBeLessThanOrEqual(0);
    expect(excess(timesMs.slice(before), { capacity: 5, ratePerMs: 0.025 })).toBeLessThanOrEqual(2);
  }, 60_000);

  it('after Redis lost everything, and all was submitted again', async () => {
    const server = await RedisServer.start();
    farm = await QueueFarm.create({ rate: 50, capacity: 10, redis: server.url });
    await farm.work(2);
    await submitAll(200);
    await farm.until(50);
    const admin = new Redis(server.url);
    await admin.flushall();
    admin.disconnect();
    await submitAll(100, 1000);
    const deadlineMs = performance.now() + 20_000;
    const again = async () => (await farm.recorder.starts()).filter(({ n }) => Number(n) >= 1000);
    while ((await again()).length < 100 && performance.now() < deadlineMs) await delay(100);
    expect(await again()).toHaveLength(100);
    const starts = await farm.recorder.starts();
    await expectLawOne(
      starts.map(({ atMs }) => atMs),
      50,
      10,
    );
    await farm.end();
    await server.stop();
  }, 60_000);
});
