// Laws 3 and 4 of the queued limiter: jobs start when it was said, and nobody polls.
import { setTimeout as delay } from 'node:timers/promises';
import { percentile } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';
import { noteFigures } from '../support/queue-figures';

const FULL = process.env.QUEUE_SOAK === '1';

const WARM_UP = 40;

let farm: QueueFarm;
afterEach(() => farm.end());

/** How late bare timers of this machine are, in ms, while `busy` goes on. */
async function timerLateness(busy: Promise<unknown>): Promise<number[]> {
  const late: number[] = [];
  let over = false;
  void busy.finally(() => (over = true));
  while (!over) {
    const dueMs = performance.now() + 20;
    await delay(20);
    late.push(performance.now() - dueMs);
  }
  return late;
}

describe('law 3: on time', () => {
  it('starts jobs when the ticket said, to within 5 ms at the median and 20 ms at the 99th percentile', async () => {
    const jobs = FULL ? 1000 : 250;
    const rate = 50;
    farm = await QueueFarm.create({ rate, capacity: 20 });
    await farm.work(2);
    const queue = farm.submitter();
    // Warm-up: the burst, and the first pick-ups of cold processes.
    await queue.submitMany(Array.from({ length: WARM_UP }, (_, i) => ({ data: { n: -1 - i } })));
    await farm.until(WARM_UP);
    const tickets = await queue.submitMany(
      Array.from({ length: jobs }, (_, n) => ({ data: { n } })),
    );
    const done = farm.until(jobs + WARM_UP, 60_000);
    const timers = await timerLateness(done);
    const late = (await done).flatMap(({ n, atMs }) =>
      Number(n) < 0 ? [] : [atMs - tickets[Number(n)].startsAt],
    );
    const p50 = percentile(late, 0.5);
    const p99 = percentile(late, 0.99);
    const timerP99 = percentile(timers, 0.99);
    noteFigures('law 3', {
      rate,
      jobs: late.length,
      p50,
      p99,
      max: Math.max(...late),
      timerP50: percentile(timers, 0.5),
      timerP99,
      timerMax: Math.max(...timers),
    });
    expect(late).toHaveLength(jobs);
    // Never early: the moment that was said is the first at which the tokens are there.
    expect(Math.min(...late)).toBeGreaterThan(-5);
    // What a bare timer is late here and now, each process on the way may be as well.
    expect(p50).toBeLessThanOrEqual(5 + timerP99);
    expect(p99).toBeLessThanOrEqual(20 + 3 * timerP99);
  }, 90_000);
});

describe('law 4: no polling', () => {
  it('picks a job up once', async () => {
    farm = await QueueFarm.create({ rate: 100, capacity: 10 });
    await farm.work(2, { workers: 2 });
    const queue = farm.submitter();
    await queue.submitMany(Array.from({ length: 300 }, (_, n) => ({ data: { n } })));
    await farm.until(300);
    const { pickUps } = await farm.tally();
    noteFigures('law 4: no retries', { picksPerJob: pickUps / 300 });
    expect(pickUps / 300).toBeLessThanOrEqual(1.1);
  }, 30_000);

  it('picks a job that was retried once up three times at most, and paces the retries', async () => {
    farm = await QueueFarm.create({
      rate: 100,
      capacity: 10,
      job: { attempts: 2, backoff: { type: 'fixed', delay: 50 } },
    });
    await farm.work(2);
    const queue = farm.submitter();
    const jobs = 100;
    await queue.submitMany(Array.from({ length: jobs }, (_, n) => ({ data: { n, failures: 1 } })));
    const starts = await farm.until(2 * jobs);
    const picks = starts.filter(({ attempt }) => attempt === '2').map(({ picks }) => Number(picks));
    noteFigures('law 4: one retry', {
      mostPicks: Math.max(...picks),
      meanPicks: picks.reduce((sum, count) => sum + count, 0) / picks.length,
    });
    expect(picks).toHaveLength(jobs);
    expect(Math.max(...picks)).toBeLessThanOrEqual(3);
    const { charges } = await farm.tally();
    expect(charges).toHaveLength(2 * jobs);
  }, 30_000);

  it('asks Redis for nothing but the lease while nobody waits', async () => {
    farm = await QueueFarm.create({ rate: 100, capacity: 10 });
    const [worker] = await farm.work(1);
    await farm.submitter().submit({ n: 0 });
    await farm.until(1);
    const before = (await worker.report()).log.calls;
    await delay(2000);
    const { calls } = (await worker.report()).log;
    const since = Object.fromEntries(
      Object.entries(calls).map(([name, count]) => [name, count - (before[name] ?? 0)]),
    );
    expect(since.tick).toBeLessThanOrEqual(12);
    expect(Object.entries(since).filter(([name, count]) => name !== 'tick' && count > 0)).toEqual(
      [],
    );
  }, 30_000);
});
