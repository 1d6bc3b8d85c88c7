// Law 10 of the queued limiter: it is a BullMQ queue, for every tool that knows BullMQ.
import { FlowProducer, Job, QueueEvents } from 'bullmq';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { excessCredits } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';

let farm: QueueFarm;
let clients: Redis[] = [];
afterEach(async () => {
  await farm.end();
  for (const client of clients) client.disconnect();
  clients = [];
});

function client(): Redis {
  const redis = new Redis(farm.setup.redis, { maxRetriesPerRequest: null });
  clients.push(redis);
  return redis;
}

describe('law 10: it is a BullMQ queue', () => {
  it('jobs that were added by plain queue.add are paced as well, in one line with the others', async () => {
    farm = await QueueFarm.create({ rate: 50, capacity: 5 });
    await farm.work(2);
    const queue = farm.submitter();
    const { bullQueue } = queue;
    await Promise.all(Array.from({ length: 60 }, (_, n) => bullQueue.add('by hand', { n })));
    await queue.submitMany(Array.from({ length: 20 }, (_, n) => ({ data: { n: 100 + n } })));
    await farm.until(80);
    const { charges, pickUps } = await farm.tally();
    expect(charges).toHaveLength(80);
    expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
    // Once to find its place, once to run.
    expect(pickUps).toBeLessThanOrEqual(2 * 60 + 20 + 8);
  }, 30_000);

  it("job.data is exactly the user's payload, and a board shows what it needs", async () => {
    farm = await QueueFarm.create({ rate: 1, capacity: 1 });
    await farm.work(1);
    await farm.stopWorkers();
    const queue = farm.submitter();
    const payload = { n: 1, key: 'k', nested: { list: [1, null, 'ä'], text: '💥' } };
    const ticket = await queue.submit(payload);
    const job = await queue.bullQueue.getJob(ticket.id);
    expect(job?.data).toEqual(payload);
    expect(Object.keys(job?.data ?? {})).toEqual(Object.keys(payload));
    expect(job?.name).toBe(queue.name);
    expect(await job?.getState()).toBe('waiting');
    const waiting = await queue.submit(payload);
    expect(await (await queue.bullQueue.getJob(waiting.id))?.getState()).toBe('delayed');
    expect(await queue.bullQueue.getJobCounts('wait', 'delayed')).toEqual({ wait: 1, delayed: 1 });
  }, 30_000);

  it('retries with back-off: each attempt pays, and the back-off is kept', async () => {
    farm = await QueueFarm.create({
      rate: 50,
      capacity: 5,
      job: { attempts: 3, backoff: { type: 'fixed', delay: 400 } },
    });
    await farm.work(1);
    const queue = farm.submitter();
    const ticket = await queue.submit({ n: 0, failures: 2 });
    expect(await ticket.result()).toEqual({ n: 0 });
    const starts = await farm.recorder.starts();
    expect(starts.map(({ attempt }) => attempt)).toEqual(['1', '2', '3']);
    const gaps = [1, 2].map((i) => starts[i].atMs - starts[i - 1].atMs);
    for (const gap of gaps) {
      // The recorder may hear of one late; the other end of a back-off is the timer's.
      expect(gap).toBeGreaterThanOrEqual(300);
      expect(gap).toBeLessThan(4000);
    }
    expect((await farm.tally()).charges).toHaveLength(3);
    const job = await queue.bullQueue.getJob(ticket.id);
    expect(job).toMatchObject({ attemptsMade: 3, attemptsStarted: 3 });
  }, 30_000);

  it('a failed job that is retried by hand runs again, paced', async () => {
    farm = await QueueFarm.create({ rate: 50, capacity: 5 });
    await farm.work(1);
    const queue = farm.submitter();
    const ticket = await queue.submit({ n: 0, failures: 1 });
    await expect(ticket.result()).rejects.toMatchObject({ code: 'RATE_LIMIT_JOB_FAILED' });
    const job = (await queue.bullQueue.getJob(ticket.id)) as Job;
    await job.retry('failed');
    await farm.until(2);
    await delay(200);
    expect(await job.getState()).toBe('completed');
    expect(await ticket.result()).toEqual({ n: 0 });
  }, 30_000);

  it('flows: a parent waits for its children, all of them paced', async () => {
    farm = await QueueFarm.create({ rate: 20, capacity: 1 });
    await farm.work(2);
    const queue = farm.submitter();
    const flows = new FlowProducer({ connection: client() });
    const { job: parent } = await flows.add({
      name: 'parent',
      queueName: queue.name,
      data: { n: 0 },
      children: [1, 2, 3].map((n) => ({ name: 'child', queueName: queue.name, data: { n } })),
    });
    const starts = await farm.until(4);
    expect(starts.map(({ n }) => Number(n)).sort((a, b) => a - b)).toEqual([0, 1, 2, 3]);
    expect(starts[3].n).toBe('0');
    await delay(200);
    expect(Object.values(await parent.getChildrenValues())).toHaveLength(3);
    const { charges } = await farm.tally();
    expect(charges).toHaveLength(4);
    expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
    await flows.close();
  }, 30_000);

  it('QueueEvents and job.waitUntilFinished tell of its jobs', async () => {
    farm = await QueueFarm.create({ rate: 20, capacity: 1 });
    await farm.work(1);
    const queue = farm.submitter();
    const events = new QueueEvents(queue.name, { connection: client() });
    await events.waitUntilReady();
    const completed: string[] = [];
    events.on('completed', ({ jobId }) => completed.push(jobId));
    const tickets = await queue.submitMany([0, 1, 2].map((n) => ({ data: { n } })));
    const job = (await queue.bullQueue.getJob(tickets[2].id)) as Job;
    expect(await job.waitUntilFinished(events, 5000)).toEqual({ n: 2 });
    await delay(100);
    expect(completed).toEqual(tickets.map(({ id }) => id));
    await events.close();
  }, 30_000);

  it('a job that another tool removed, or promoted too early, does no harm', async () => {
    farm = await QueueFarm.create({ rate: 5, capacity: 1 });
    await farm.work(1);
    const queue = farm.submitter();
    const tickets = await queue.submitMany([0, 1, 2, 3].map((n) => ({ data: { n } })));
    await queue.bullQueue.remove(tickets[1].id);
    const last = (await queue.bullQueue.getJob(tickets[3].id)) as Job;
    await last.promote();
    const starts = await farm.until(3);
    expect(starts.map(({ n }) => n)).toEqual(['0', '2', '3']);
    await expect(tickets[1].result({ timeoutMs: 5000 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_JOB_CANCELLED',
    });
    const { charges } = await farm.tally();
    expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
  }, 30_000);
});
