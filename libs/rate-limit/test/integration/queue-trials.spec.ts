// What other queues got wrong when they were closed, were idle, or lost their connection, tried on a Redis of its own.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { LocalQueue } from '../support/queue-local';
import { RedisServer, uniquePrefix } from '../support/redis-server';

let server: RedisServer;
let local: LocalQueue | undefined;
beforeAll(async () => {
  server = await RedisServer.start();
});
afterEach(() => local?.close());
afterAll(() => server.stop());

const until = async (condition: () => boolean) => {
  while (!condition()) await delay(5);
};
const items = (count: number) => Array.from({ length: count }, (_, n) => ({ data: { n } }));
const where = () => ({
  redis: server.url,
  keyPrefix: uniquePrefix(),
  name: `trial-${randomUUID()}`,
});

describe('closing', () => {
  it('B17: with a backlog that is put back again and again ends soon, and every job runs once', async () => {
    const options = { ...where(), rate: 50, capacity: 1, worker: { concurrency: 5 } };
    const first = await LocalQueue.start(options);
    await first.queue.submitMany(items(60));
    await until(() => first.runs.length > 4);
    const fromMs = performance.now();
    await first.close();
    expect(performance.now() - fromMs).toBeLessThan(5000);
    expect(first.runs.length).toBeLessThan(60);
    local = await LocalQueue.start(options);
    await until(() => first.runs.length + (local as LocalQueue).runs.length >= 60);
    await delay(100);
    const ran = [...first.ran, ...local.ran].map((data) => (data as { n: number }).n);
    expect(ran).toEqual(items(60).map(({ data }) => data.n));
  }, 30_000);

  it('B17: of an empty queue ends soon, and within the time for running jobs when Redis has gone', async () => {
    const redis = await RedisServer.start();
    const options = { rate: 1, capacity: 1 };
    const empty = await LocalQueue.start({ ...where(), ...options });
    const gone = await LocalQueue.start({ ...where(), ...options, redis: redis.url });
    await gone.queue.submitMany(items(5));
    await redis.stop();
    for (const [queue, mostMs] of [
      [empty, 5000],
      [gone, 14_000],
    ] as const) {
      const fromMs = performance.now();
      await queue.close();
      expect(performance.now() - fromMs).toBeLessThan(mostMs);
    }
  }, 30_000);

  it('B73: a job that fails while its queue closes has failed, and nothing is left active', async () => {
    const options = where();
    let started = false;
    const closing = await LocalQueue.start({ ...options, rate: 10, capacity: 5 }, async () => {
      started = true;
      await delay(300);
      throw new Error('no');
    });
    await closing.queue.submit({ n: 0 });
    await until(() => started);
    await closing.close();
    const bull = new Queue(options.name, { connection: { url: server.url } });
    expect(await bull.getJobCounts('failed', 'active')).toEqual({ failed: 1, active: 0 });
    await bull.close();
  }, 30_000);
});

it('B69: after a rest, and after its connections were cut, what waits starts without being woken', async () => {
  local = await LocalQueue.start({ ...where(), rate: 1, capacity: 1 });
  await local.queue.submit({ n: 0 });
  await until(() => (local as LocalQueue).runs.length === 1);
  await delay(3000);
  const fromMs = performance.now();
  await local.queue.submitMany(items(4));
  await delay(500);
  const admin = new Redis(server.url);
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  await until(() => (local as LocalQueue).runs.length === 5);
  admin.disconnect();
  const late = local.runs.slice(1).map(({ atMs }, n) => atMs - fromMs - n * 1000);
  expect(Math.min(...late)).toBeGreaterThan(-50);
  expect(Math.max(...late)).toBeLessThan(2000);
}, 30_000);
