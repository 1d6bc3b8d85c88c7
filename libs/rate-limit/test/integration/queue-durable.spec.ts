// Law 8 of the queued limiter: every accepted job ends, whatever dies in the middle.
import { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { Pacing } from '../../src/queue/pacing';
import type { QueueRedis } from '../../src/queue/queue-redis';
import { QueueNames } from '../../src/queue/queue-names';
import type { QueueCounts } from '../../src/queue/queue-face';
import type { RateLimitedQueue } from '../../src/queue/rate-limited-queue';
import { excessCredits } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';
import { noteFigures } from '../support/queue-figures';
import { RedisServer } from '../support/redis-server';

let farm: QueueFarm;
let server: RedisServer | undefined;
afterEach(async () => {
  await farm.end();
  await server?.stop();
  server = undefined;
});

/** Locks that run out soon, so that a dead worker's jobs are found soon. */
const IMPATIENT = { lockDuration: 2000, stalledInterval: 1000 };

async function submit(count: number, work: object = {}) {
  const queue = farm.submitter();
  await queue.submitMany(Array.from({ length: count }, (_, n) => ({ data: { n, ...work } })));
  return queue;
}

async function allCompleted(queue: Pick<RateLimitedQueue, 'counts'>, count: number) {
  const endsMs = performance.now() + 30_000;
  const all = { waiting: 0, active: 0, failed: 0, completed: count };
  let last: QueueCounts | undefined;
  while (performance.now() < endsMs && (last?.completed ?? 0) + (last?.failed ?? 0) < count) {
    await delay(50);
    // Redis may be on its way back.
    last = await queue.counts().catch(() => last);
  }
  expect(last).toEqual(all);
}

describe('law 8: nothing lost', () => {
  it('kill -9 of a worker in the middle of 500 jobs with one attempt: 500 end', async () => {
    farm = await QueueFarm.create({
      rate: 200,
      capacity: 20,
      job: { attempts: 1 },
      worker: { concurrency: 10, ...IMPATIENT },
    });
    const [victim] = await farm.work(3);
    const queue = await submit(500, { ms: 30 });
    await farm.until(150);
    await victim.kill();
    await allCompleted(queue, 500);
    const starts = await farm.recorder.starts();
    expect(new Set(starts.map(({ n }) => n)).size).toBe(500);
    noteFigures('law 8: kill -9', { started: starts.length });
    // What ran in the dead worker runs again, and only that.
    expect(starts.length).toBeLessThanOrEqual(510);
  }, 60_000);

  it('being put back five times costs no attempt and no back-off', async () => {
    farm = await QueueFarm.create({ rate: 0.4, capacity: 1, job: { attempts: 1 } });
    await farm.work(1);
    const queue = await submit(1);
    await farm.until(1);
    const ticket = await queue.submit({ n: 1 });
    for (let i = 0; i < 5; i++) {
      const job = await queue.bullQueue.getJob(ticket.id);
      await job?.promote();
      await delay(100);
    }
    const early = await queue.bullQueue.getJob(ticket.id);
    expect(early).toMatchObject({ attemptsStarted: 5, attemptsMade: 0 });
    expect(await ticket.result({ timeoutMs: 10_000 })).toEqual({ n: 1 });
    expect(await queue.bullQueue.getJob(ticket.id)).toMatchObject({
      attemptsStarted: 6,
      attemptsMade: 1,
    });
    expect((await farm.recorder.starts()).map(({ attempt }) => attempt)).toEqual(['1', '1']);
  }, 30_000);

  it('a crash in the middle of a submission costs one place, for at most 30 s', async () => {
    farm = await QueueFarm.create({ rate: 0.001, capacity: 1, maxQueue: 2, timeoutMs: 1000 });
    await farm.work(1);
    const queue = await submit(1);
    await farm.until(1);
    // A process that took its place and got no further: it never hands the job over, nor gives up.
    const dead = farm.submitter({ timeoutMs: 600_000 });
    dead.bullQueue.add = () => new Promise(() => undefined);
    const options = { maxWaitMs: 10_000_000_000 };
    void dead.submit({ n: 1 }, options).catch(() => undefined);
    await delay(300);
    await queue.submit({ n: 2 }, options);
    expect(await queue.trySubmit({ n: 3 }, options)).toBeNull();
    const fromMs = performance.now();
    while ((await queue.trySubmit({ n: 3 }, options)) === null) await delay(100);
    const tookMs = performance.now() - fromMs;
    noteFigures('law 8: place reclaimed', { tookMs });
    expect(tookMs).toBeLessThan(30_000);
  }, 60_000);

  it('a crash in the middle of a submission that would start at once gives its token back', async () => {
    farm = await QueueFarm.create({ rate: 0.001, capacity: 1, timeoutMs: 1000 });
    await farm.work(1);
    const dead = farm.submitter({ timeoutMs: 600_000 });
    dead.bullQueue.add = () => new Promise(() => undefined);
    void dead.submit({ n: 0 }).catch(() => undefined);
    await delay(300);
    await farm.submitter().submit({ n: 1 }, { maxWaitMs: 10_000_000_000 });
    await farm.until(1, 30_000);
    expect(await farm.recorder.starts()).toMatchObject([{ n: '1' }]);
  }, 60_000);

  it('a crash between grant and promotion: the next leader promotes', async () => {
    farm = await QueueFarm.create({ rate: 10, capacity: 1 });
    await farm.work(1);
    await farm.stopWorkers();
    const queue = await submit(3);
    const redis = new Redis(farm.setup.redis);
    const pacing = new Pacing(
      redis as unknown as QueueRedis,
      new QueueNames(farm.setup.keyPrefix, queue.name),
    );
    const lane = farm.open().lanes.ofKey('all');
    const grant = { mostInFlight: 100, lookAheadUs: 1_000_000, most: 1 };
    // The first one was let start at once; drop it, so that the next may be granted.
    const [first] = await queue.bullQueue.getWaiting();
    await first.remove();
    await pacing.drop(first.id as string, lane, false);
    expect((await pacing.grant(lane, grant)).ids).toHaveLength(1);
    redis.disconnect();
    await farm.work(1);
    const fromMs = performance.now();
    await farm.until(2);
    const tookMs = performance.now() - fromMs;
    noteFigures('law 8: grant without promotion', { tookMs });
    expect(tookMs).toBeLessThan(1500);
  }, 30_000);

  it.each([
    ['stopped and started again', (redis: RedisServer) => redis.restart()],
    [
      'killed and started again',
      async (redis: RedisServer) => {
        await redis.kill();
        await delay(1000);
        await redis.restart();
      },
    ],
    [
      'frozen for 3 s',
      async (redis: RedisServer) => {
        redis.pause();
        await delay(3000);
        redis.resume();
      },
    ],
  ])(
    'a persistent Redis that is %s in the middle',
    async (_, fault) => {
      server = await RedisServer.start('--appendonly', 'yes', '--appendfsync', 'always');
      farm = await QueueFarm.create({
        redis: server.url,
        rate: 50,
        capacity: 10,
        worker: IMPATIENT,
      });
      await farm.work(2);
      const queue = await submit(150);
      await farm.until(60);
      const fromMs = performance.now();
      await fault(server);
      await allCompleted(queue, 150);
      noteFigures(`law 8: Redis ${_}`, { tookMs: performance.now() - fromMs });
      const starts = await farm.recorder.starts();
      expect(new Set(starts.map(({ n }) => n)).size).toBe(150);
      const { charges } = await farm.tally();
      expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
    },
    60_000,
  );

  it('SIGTERM in the middle: what runs ends, the rest runs elsewhere, each once', async () => {
    farm = await QueueFarm.create({ rate: 100, capacity: 10, job: { attempts: 1 } });
    const [leaving] = await farm.work(2);
    const queue = await submit(200, { ms: 100 });
    await farm.until(60);
    const { exitCode, closedInMs } = await leaving.terminate();
    expect(exitCode).toBe(0);
    expect(closedInMs).toBeLessThan(2000);
    await allCompleted(queue, 200);
    const starts = await farm.recorder.starts();
    expect(starts.map(({ n }) => Number(n)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 200 }, (_, n) => n),
    );
  }, 30_000);

  it('jobs whose lines were lost are put into new ones', async () => {
    server = await RedisServer.start();
    farm = await QueueFarm.create({ redis: server.url, rate: 50, capacity: 5 });
    await farm.work(1);
    await farm.stopWorkers();
    const queue = await submit(40);
    const redis = new Redis(server.url);
    const ours = await redis.keys(`${farm.setup.keyPrefix}:*`);
    expect(ours.length).toBeGreaterThan(4);
    await redis.del(...ours);
    redis.disconnect();
    await farm.work(1);
    await allCompleted(queue, 40);
  }, 40_000);
});
