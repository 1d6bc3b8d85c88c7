// Law 9 of the queued limiter: a job past its maxWaitMs ends as expired, and its processor is never called.
import { setTimeout as delay } from 'node:timers/promises';
import { JobExpiredError } from '../../src/queue/queue-errors';
import { QueueFarm } from '../support/queue-farm';

let farm: QueueFarm;
afterEach(() => farm.end());

describe('law 9: deadlines', () => {
  it('refuses at submit what could not start in time', async () => {
    farm = await QueueFarm.create({ rate: 1, capacity: 1 });
    await farm.work(1);
    const queue = farm.submitter();
    await queue.submit({ n: 0 });
    await queue.submit({ n: 1 }, { maxWaitMs: 1400 });
    await expect(queue.submit({ n: 2 }, { maxWaitMs: 1800 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_WAIT_TOO_LONG',
      httpStatus: 429,
    });
    expect(await queue.trySubmit({ n: 2 }, { maxWaitMs: 0 })).toBeNull();
    await farm.until(2);
    expect(await queue.counts()).toMatchObject({ waiting: 0, failed: 0 });
  }, 30_000);

  it('expires what waits while its key is paused; what comes after it runs', async () => {
    farm = await QueueFarm.create({ keyed: true, rate: 5, capacity: 1, job: { attempts: 3 } });
    await farm.work(1);
    const queue = farm.submitter();
    await queue.submit({ n: 0, key: 'a' });
    await farm.until(1);
    const late = await queue.submitMany(
      [1, 2, 3].map((n) => ({ data: { n, key: 'a' }, maxWaitMs: 800 })),
    );
    const patient = await queue.submit({ n: 4, key: 'a' });
    await queue.pauseKey('a', 1800);
    const fromMs = performance.now();
    const ends = await Promise.allSettled(late.map((ticket) => ticket.result()));
    const tookMs = performance.now() - fromMs;
    for (const end of ends) {
      expect(end).toMatchObject({ status: 'rejected', reason: expect.any(JobExpiredError) });
    }
    expect(tookMs).toBeGreaterThan(700);
    expect(tookMs).toBeLessThan(1800);
    expect(await patient.result()).toEqual({ n: 4 });
    expect((await farm.recorder.starts()).map(({ n }) => n)).toEqual(['0', '4']);
    // For BullMQ they failed, for good.
    const job = await queue.bullQueue.getJob(late[0].id);
    expect(await job?.getState()).toBe('failed');
    expect(job?.failedReason).toMatch(/expired/);
    expect(await late[0].ending()).toEqual({ state: 'expired' });
  }, 30_000);

  it('expires what was let start at once while no worker was there, and gives its token back', async () => {
    farm = await QueueFarm.create({ rate: 0.001, capacity: 1 });
    await farm.work(1);
    await farm.stopWorkers();
    const queue = farm.submitter();
    const late = await queue.submit({ n: 0 }, { maxWaitMs: 100 });
    expect(late.position).toBe(0);
    const next = await queue.submit({ n: 1 }, { maxWaitMs: 10_000_000_000 });
    await delay(300);
    await farm.work(1);
    await expect(late.result()).rejects.toBeInstanceOf(JobExpiredError);
    expect(await next.result()).toEqual({ n: 1 });
    expect((await farm.recorder.starts()).map(({ n }) => n)).toEqual(['1']);
  }, 30_000);

  it('expires while all workers are busy, and while the queue is paused', async () => {
    farm = await QueueFarm.create({ rate: 100, capacity: 2, worker: { concurrency: 1 } });
    await farm.work(1);
    const queue = farm.submitter();
    await queue.submit({ n: 0, ms: 1000 });
    await farm.until(1);
    const late = await queue.submit({ n: 1 }, { maxWaitMs: 200 });
    await expect(late.result()).rejects.toBeInstanceOf(JobExpiredError);
    await queue.pause();
    const paused = await queue.submit({ n: 2 }, { maxWaitMs: 200 });
    await delay(400);
    await queue.resume();
    await expect(paused.result()).rejects.toBeInstanceOf(JobExpiredError);
    expect((await farm.recorder.starts()).map(({ n }) => n)).toEqual(['0']);
  }, 30_000);

  it('a retry has no deadline: it was started in time', async () => {
    farm = await QueueFarm.create({ rate: 2, capacity: 1, job: { attempts: 2 } });
    await farm.work(1);
    const queue = farm.submitter();
    const ticket = await queue.submit({ n: 0, failures: 1 }, { maxWaitMs: 100 });
    expect(await ticket.result()).toEqual({ n: 0 });
  }, 30_000);
});
