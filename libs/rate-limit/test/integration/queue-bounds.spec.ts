// Law 7 of the queued limiter: the bounds of waiting jobs are exact, whatever happened before.
import { QueueEvents } from 'bullmq';
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { QueueFullError } from '../../src/queue/queue-errors';
import { QueueFarm } from '../support/queue-farm';
import { noteFigures } from '../support/queue-figures';
import type { Ticket } from '../../src/queue/ticket';
import type { RateLimitedQueue } from '../../src/queue/rate-limited-queue';
import type { Work } from '../support/queue-worker-process';

let farm: QueueFarm;
afterEach(() => farm.end());

const BOUND = 100;
const CAPACITY = 10;

/** `count` submissions at once, from two clients; returns the tickets of the accepted. */
async function flood(count: number, keys: readonly string[] = ['all']) {
  const clients = [farm.submitter(), farm.submitter()];
  const sent = await Promise.allSettled(
    Array.from({ length: count }, (_, n) =>
      clients[n % 2].submit({ n }, { key: keys[n % keys.length] }),
    ),
  );
  const refused = sent.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []));
  expect(refused.filter((error) => !(error instanceof QueueFullError))).toEqual([]);
  return sent.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

const waiting = (tickets: Ticket[]) => tickets.filter(({ position }) => position > 0).length;

/** A queue that some pacer has seen, with nobody working it off. */
async function idleQueue(options: Parameters<typeof QueueFarm.create>[0] = {}) {
  farm = await QueueFarm.create({
    rate: 0.001,
    capacity: CAPACITY,
    maxQueue: BOUND,
    maxWaitMs: 10_000_000_000,
    ...options,
  });
  await farm.work(1);
  await farm.stopWorkers();
}

describe('law 7: bounded', () => {
  it('1000 concurrent submissions into a bound of 100 accept exactly 100, and those that start at once', async () => {
    await idleQueue();
    const tickets = await flood(1000);
    expect(tickets).toHaveLength(BOUND + CAPACITY);
    expect(waiting(tickets)).toBe(BOUND);
    expect(await farm.submitter().counts()).toMatchObject({ waiting: BOUND + CAPACITY });
    expect(await farm.submitter().trySubmit({ n: 0 })).toBeNull();
  }, 30_000);

  it('says whose bound it was, and for how long', async () => {
    await idleQueue({ rate: 1, maxQueue: 5, maxQueueTotal: 7, capacity: 1 });
    const queue = farm.submitter();
    const fill = async (key: string, count: number) => {
      for (let n = 0; n < count; n++) await queue.submit({ n }, { key });
    };
    await fill('a', 6);
    await expect(queue.submit({ n: 0 }, { key: 'a' })).rejects.toMatchObject({
      code: 'RATE_LIMIT_QUEUE_FULL',
      bound: 'key',
      httpStatus: 429,
    });
    await fill('b', 3);
    const refused = await queue.submit({ n: 0 }, { key: 'b' }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ bound: 'queue', httpStatus: 503 });
    expect((refused as QueueFullError).retryAfterMs).toBeGreaterThan(2000);
    expect((refused as QueueFullError).retryAfterMs).toBeLessThanOrEqual(3000);
    // A third key that needs no place is let in all the same.
    expect((await queue.submit({ n: 0 }, { key: 'c' })).position).toBe(0);
  }, 30_000);

  it('every accepted job of a flood runs', async () => {
    farm = await QueueFarm.create({ rate: 1000, capacity: CAPACITY, maxQueue: BOUND });
    await farm.work(2);
    const tickets = await flood(2000);
    const starts = await farm.until(tickets.length, 20_000);
    expect(new Set(starts.map(({ n }) => n)).size).toBe(tickets.length);
    noteFigures('law 7: flood of 2000 at 1000/s', { accepted: tickets.length });
    expect(await farm.submitter().counts()).toEqual({
      waiting: 0,
      active: 0,
      failed: 0,
      completed: tickets.length,
    });
  }, 40_000);

  it('still so after 20 rounds of fill, and removal by drain, obliterate, job.remove and cancel', async () => {
    await idleQueue();
    // The burst is used up, so that every further job has to wait.
    await flood(CAPACITY);
    const queue = farm.submitter();
    const { bullQueue } = queue;
    const emptied: ((queue: RateLimitedQueue<Work>, tickets: Ticket[]) => Promise<unknown>)[] = [
      () => queue.drain(),
      () => bullQueue.obliterate({ force: true }),
      (_, tickets) => Promise.all(tickets.map(({ id }) => bullQueue.remove(id))),
      (_, tickets) => Promise.all(tickets.map((ticket) => ticket.cancel())),
      () => bullQueue.drain(true),
    ];
    const accepted: number[] = [];
    for (let round = 0; round < 20; round++) {
      const tickets = await flood(300);
      accepted.push(waiting(tickets));
      await emptied[round % emptied.length](queue, tickets);
    }
    noteFigures('law 7: 20 rounds', { accepted: accepted.join(' ') });
    expect(accepted).toEqual(Array.from({ length: 20 }, () => BOUND));
  }, 60_000);

  it('still so after the processes that submitted crashed, and Redis kept half of what they did', async () => {
    await idleQueue();
    const queue = farm.submitter();
    await flood(CAPACITY);
    await flood(300);
    // Half of the jobs vanish from BullMQ, as a crash between the two steps of a submission would leave it.
    const redis = new Redis(farm.setup.redis);
    const jobs = await queue.bullQueue.getDelayed(0, -1);
    await Promise.all(jobs.slice(0, BOUND / 2).map((job) => job.remove()));
    redis.disconnect();
    expect(waiting(await flood(300))).toBe(BOUND / 2);
  }, 30_000);

  it('never frees a place whose job is still on its way to BullMQ', async () => {
    await idleQueue();
    await flood(CAPACITY);
    // A client that took its places and stalls before it hands the jobs over.
    const slow = farm.submitter();
    const add = slow.bullQueue.add.bind(slow.bullQueue);
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    slow.bullQueue.add = async (...job) => {
      await released;
      return add(...job);
    };
    const stalled = Array.from({ length: 10 }, (_, n) => slow.submit({ n }));
    await delay(200);
    expect(waiting(await flood(500))).toBe(BOUND - 10);
    release();
    await Promise.all(stalled);
    expect(await farm.submitter().counts()).toMatchObject({ waiting: BOUND + CAPACITY });
  }, 30_000);

  it('is told by QueueEvents like any BullMQ queue', async () => {
    await idleQueue();
    const queue = farm.submitter();
    const connection = new Redis(farm.setup.redis, { maxRetriesPerRequest: null });
    const events = new QueueEvents(queue.name, { connection });
    await events.waitUntilReady();
    const seen: string[] = [];
    events.on('added', ({ jobId }) => seen.push(jobId));
    const tickets = await flood(5);
    await delay(200);
    expect(seen.sort()).toEqual(tickets.map(({ id }) => id).sort());
    await events.close();
    connection.disconnect();
  }, 30_000);
});
