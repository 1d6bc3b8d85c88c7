// Pauses of a queue and of a key, draining, and limits that change while jobs wait.
import { setTimeout as delay } from 'node:timers/promises';
import { excessCredits } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';
import { LocalQueue } from '../support/queue-local';

let farm: QueueFarm | undefined;
let local: LocalQueue | undefined;
afterEach(async () => {
  await farm?.end();
  await local?.close();
  [farm, local] = [undefined, undefined];
});

const FAST = { rate: 1000, capacity: 1000 };
/** One after the other, so that the order of starts is to be seen. */
const ORDERED = { rate: 50, capacity: 1 };
const numbers = (length: number, from = 0) => Array.from({ length }, (_, i) => from + i);

describe('pause and resume', () => {
  it('start nothing in any process, let running jobs go on, and take submissions', async () => {
    farm = await QueueFarm.create({ rate: 50, capacity: 5 });
    await farm.work(2);
    const queue = farm.submitter();
    const running = await queue.submit({ n: 0, ms: 500 });
    await farm.until(1);
    await queue.submitMany(numbers(30, 1).map((n) => ({ data: { n } })));
    await farm.until(10);
    await queue.pause();
    await delay(100);
    const before = (await farm.recorder.starts()).length;
    const while_ = await farm.submitter().submit({ n: 31 });
    await delay(800);
    expect(await farm.recorder.starts()).toHaveLength(before);
    expect(await running.result({ timeoutMs: 100 })).toEqual({ n: 0 });
    await farm.submitter().resume();
    await while_.result();
    const starts = await farm.until(32);
    expect(starts.map(({ n }) => Number(n)).sort((a, b) => a - b)).toEqual(numbers(32));
    // A pause is no credit for a second burst.
    const { charges } = await farm.tally();
    expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
  }, 30_000);

  it('hold for workers that start later', async () => {
    farm = await QueueFarm.create(FAST);
    const queue = farm.submitter();
    await queue.pause();
    const ticket = await queue.submit({ n: 0 });
    await farm.work(1);
    await delay(500);
    expect(await farm.recorder.starts()).toEqual([]);
    await queue.resume();
    await ticket.result();
  }, 30_000);
});

describe('pauseKey', () => {
  it('stops one key for its time, keeps its order, and moves nobody else', async () => {
    local = await LocalQueue.start({ ...ORDERED, keyed: true });
    const { queue } = local;
    const fromMs = performance.now();
    await queue.pauseKey('a', 2000);
    const slow = await queue.submitMany(numbers(5).map((n) => ({ data: { n, key: 'a' } })));
    const quick = await queue.submitMany(numbers(5, 5).map((n) => ({ data: { n, key: 'b' } })));
    await Promise.all(quick.map((ticket) => ticket.result()));
    expect(performance.now() - fromMs).toBeLessThan(1900);
    // The pause is part of what the ticket said.
    expect(slow[0].startsInMs).toBeGreaterThan(1000);
    await Promise.all(slow.map((ticket) => ticket.result()));
    expect(local.runs[5].atMs - fromMs).toBeGreaterThanOrEqual(1999);
    expect(local.ran.map((data) => (data as { n: number }).n)).toEqual([
      ...numbers(5, 5),
      ...numbers(5),
    ]);
  }, 20_000);

  it('is ended early by 0, and set anew by a shorter one', async () => {
    local = await LocalQueue.start(FAST);
    const { queue } = local;
    await queue.pauseKey('all', 60_000);
    const ticket = await queue.submit('x');
    await queue.pauseKey('all', 0);
    await ticket.result({ timeoutMs: 5000 });
    await queue.pauseKey('all', 60_000);
    const fromMs = performance.now();
    await queue.pauseKey('all', 300);
    await (await queue.submit('y')).result({ timeoutMs: 10_000 });
    expect(performance.now() - fromMs).toBeGreaterThanOrEqual(299);
  }, 20_000);

  it.each([-1, 1.5, NaN, Infinity, '5', undefined])('refuses %p ms', async (ms) => {
    local = await LocalQueue.start({ ...FAST, submitOnly: true });
    await expect(local.queue.pauseKey('all', ms as number)).rejects.toMatchObject({
      code: 'RATE_LIMIT_INVALID_LIMIT',
      message: expect.stringContaining('pauseKey: ms'),
    });
  });
});

describe('RetryKeyLater', () => {
  it('pauses one key, burns no attempt, and moves no job of another', async () => {
    farm = await QueueFarm.create({ ...ORDERED, keyed: true, job: { attempts: 1 } });
    await farm.work(2);
    const queue = farm.submitter();
    const fromMs = performance.now();
    const limited = await queue.submit({ n: 0, key: 'a', laterMs: 3000, laterTimes: 1 });
    await farm.until(1);
    const behind = await queue.submitMany(numbers(3, 1).map((n) => ({ data: { n, key: 'a' } })));
    const others = await queue.submitMany(numbers(10, 4).map((n) => ({ data: { n, key: 'b' } })));
    await Promise.all(others.map((ticket) => ticket.result()));
    expect(performance.now() - fromMs).toBeLessThan(2900);
    await Promise.all([limited, ...behind].map((ticket) => ticket.result()));
    expect(performance.now() - fromMs).toBeGreaterThanOrEqual(2999);
    const starts = await farm.recorder.starts();
    const ofA = starts.filter(({ key }) => key === 'a');
    // It keeps its place: before those that were submitted behind it.
    // It says so once in each process that it meets.
    const runs = ofA.filter(({ n }) => n === '0').length;
    expect([2, 3]).toContain(runs);
    expect(ofA.map(({ n }) => n).slice(runs)).toEqual(['1', '2', '3']);
    expect(new Set(ofA.map(({ attempt }) => attempt))).toEqual(new Set(['1']));
    expect(await queue.bullQueue.getJob(limited.id)).toMatchObject({ attemptsMade: 1 });
    expect(await queue.counts()).toMatchObject({ failed: 0, completed: 14 });
  }, 20_000);

  it('of several jobs of a key at once: the longest pause holds', async () => {
    farm = await QueueFarm.create({ ...FAST, keyed: true, job: { attempts: 1 } });
    await farm.work(1);
    const queue = farm.submitter();
    const fromMs = performance.now();
    const tickets = await queue.submitMany(
      [300, 800, 100].map((laterMs, n) => ({ data: { n, key: 'a', laterMs, laterTimes: 1 } })),
    );
    await Promise.all(tickets.map((ticket) => ticket.result()));
    expect(performance.now() - fromMs).toBeGreaterThan(800);
    expect(await queue.counts()).toMatchObject({ failed: 0, completed: 3 });
  }, 20_000);
});

describe('drain', () => {
  it('removes what has not started, frees its places, and what runs goes on', async () => {
    local = await LocalQueue.start({ rate: 0.001, capacity: 2, maxQueue: 3 }, async ({ data }) =>
      delay(300, data as unknown),
    );
    const { queue } = local;
    const patient = { maxWaitMs: 10_000_000_000 };
    const running = await queue.submit('runs');
    await delay(100);
    const waiting = await queue.submitMany(numbers(4).map((n) => ({ data: n, ...patient })));
    expect(await queue.trySubmit('full', patient)).toBeNull();
    await queue.pauseKey('all', 60_000);
    await delay(400);
    await queue.drain();
    expect(await queue.counts()).toMatchObject({ waiting: 0 });
    expect(await running.result()).toBe('runs');
    await expect(waiting[3].result()).rejects.toMatchObject({ code: 'RATE_LIMIT_JOB_CANCELLED' });
    const again = await queue.submitMany(numbers(3).map((n) => ({ data: n, ...patient })));
    expect(again.map(({ position }) => position)).toEqual([1, 2, 3]);
  }, 20_000);
});

describe('a rate that changes in the middle (rolling deploy)', () => {
  it('halved while old workers still run: never faster than the old numbers, then as slow as the new ones', async () => {
    farm = await QueueFarm.create({ rate: 100, capacity: 10 });
    const old = await farm.work(2);
    const queue = farm.submitter();
    await queue.submitMany(numbers(400).map((n) => ({ data: { n } })));
    await farm.until(60);
    await farm.work(1, { rate: 50, capacity: 5 });
    await farm.until(120);
    const reports = await Promise.all(old.map((worker) => worker.terminate()));
    await farm.until((await farm.recorder.starts()).length + 60);
    const before = reports.flatMap(({ log }) => log.charges);
    const { charges } = await farm.tally();
    expect(excessCredits([...before, ...charges], farm.envelope)).toBeLessThanOrEqual(0);
    // What an old pacer had paid may still start; from then on the new numbers hold.
    const changedUs = Math.max(...before.map(({ ranAtUs }) => ranAtUs));
    const after = charges.filter(({ ranAtUs }) => ranAtUs > changedUs).slice(5);
    expect(after.length).toBeGreaterThan(40);
    const { n, q, capacity } = farm.envelope;
    expect(excessCredits(after, { n: n / 2, q, capacity: capacity / 2 })).toBeLessThanOrEqual(0);
  }, 40_000);

  it('raised: what waits already is faster too', async () => {
    farm = await QueueFarm.create({ rate: 2, capacity: 1 });
    await farm.work(1);
    const queue = farm.submitter();
    const tickets = await queue.submitMany(numbers(60).map((n) => ({ data: { n } })));
    expect(tickets[59].startsInMs).toBeGreaterThan(28_000);
    await farm.stopWorkers();
    await farm.work(1, { rate: 100, capacity: 1 });
    const fromMs = performance.now();
    await tickets[59].result({ timeoutMs: 10_000 });
    expect(performance.now() - fromMs).toBeLessThan(10_000);
  }, 30_000);

  it('a job that costs more than the new capacity waits for a full bucket, and runs', async () => {
    farm = await QueueFarm.create({ rate: 100, capacity: 10 });
    await farm.work(1);
    await farm.stopWorkers();
    const queue = farm.submitter();
    await queue.submit({ n: 0 }, { cost: 10 });
    const large = await queue.submit({ n: 1 }, { cost: 10 });
    await farm.work(1, { rate: 100, capacity: 2 });
    expect(await large.result({ timeoutMs: 5000 })).toEqual({ n: 1 });
  }, 30_000);
});
