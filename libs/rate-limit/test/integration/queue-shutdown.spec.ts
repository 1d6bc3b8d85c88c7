// The end of an application: no more intake, running jobs end within a deadline, the waiting stay, nothing is left open.
import { Injectable } from '@nestjs/common';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimitModule } from '../../src';
import {
  InjectRateLimitedQueue,
  RateLimitedProcessor,
  RateLimitedQueue,
  RateLimitQueueModule,
} from '../../src/queue';
import { buildApp } from '../support/nest-app';
import type { AppWork } from '../support/queue-app-process';
import { RedisServer } from '../support/redis-server';

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

const connections = async () => ((await admin.client('LIST')) as string).trim().split('\n').length;

/** An application in this process. */
async function app(
  options: { process?: (data: AppWork) => unknown; redis?: Redis; keep?: boolean } = {},
) {
  const name = `shutdown-${randomUUID()}`;
  const runs: number[] = [];
  @RateLimitedProcessor(name)
  class Processor {
    async process({ data }: { data: AppWork }): Promise<number> {
      runs.push(data.n);
      await options.process?.(data);
      return data.n;
    }
  }
  @Injectable()
  class Submitter {
    constructor(@InjectRateLimitedQueue(name) readonly queue: RateLimitedQueue<AppWork, number>) {}
  }
  const nest = await buildApp({
    imports: [
      RateLimitModule.forRoot({ redis: options.redis ?? server.url }),
      RateLimitQueueModule.register<AppWork>({ name, rate: 1000, capacity: 5 }),
    ],
    providers: [Processor, Submitter],
  });
  return { nest, name, runs, queue: nest.get(Submitter).queue };
}

async function jobsLeft(name: string) {
  const queue = new Queue(name, { connection: { url: server.url } });
  const counts = await queue.getJobCounts('wait', 'delayed');
  await queue.close();
  return (counts.wait ?? 0) + (counts.delayed ?? 0);
}

describe('app.close()', () => {
  it('lets running jobs end, leaves the waiting in Redis, and closes its own connections only', async () => {
    const before = await connections();
    const { nest, name, queue, runs } = await app({ process: () => delay(400) });
    const running = await queue.submitMany([0, 1].map((n) => ({ data: { n } })));
    await delay(200);
    await queue.pause();
    await queue.submitMany([2, 3, 4].map((n) => ({ data: { n } })));
    const ended = Promise.all(running.map((ticket) => ticket.result()));
    await nest.close();
    await nest.close();
    expect(await ended).toEqual([0, 1]);
    expect(runs.sort((a, b) => a - b)).toEqual([0, 1]);
    expect(await jobsLeft(name)).toBe(3);
    await delay(100);
    expect(await connections()).toBe(before);
    await expect(queue.submit({ n: 5 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_LIMITER_CLOSED',
    });
  }, 20_000);

  it('leaves a client that was handed in to whoever opened it', async () => {
    const redis = new Redis(server.url);
    await redis.ping();
    const before = await connections();
    const { nest, queue } = await app({ redis });
    await (await queue.submit({ n: 0 })).result();
    await nest.close();
    expect(await redis.ping()).toBe('PONG');
    await delay(100);
    expect(await connections()).toBe(before);
    redis.disconnect();
  }, 20_000);

  it('is not held up by a Redis that is frozen', async () => {
    const { nest, queue } = await app();
    await (await queue.submit({ n: 0 })).result();
    server.pause();
    const fromMs = performance.now();
    await nest.close();
    const tookMs = performance.now() - fromMs;
    server.resume();
    expect(tookMs).toBeLessThan(20_000);
  }, 30_000);
});

describe('SIGTERM', () => {
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill('SIGKILL'));

  /** An application of its own, with a job that runs. */
  async function started(work: AppWork) {
    const name = `shutdown-${randomUUID()}`;
    child = fork(
      join(__dirname, '../support/queue-app-process.ts'),
      [JSON.stringify({ redis: server.url, name })],
      { execArgv: ['-r', join(__dirname, '../support/queue-ts-hook.cjs')] },
    );
    const told: unknown[] = [];
    child.on('message', (message) => told.push(message));
    await once(child, 'message');
    const queue = new Queue(name, { connection: { url: server.url } });
    await queue.add('job', work);
    while (told.length < 2) await delay(20);
    await queue.pause();
    await queue.add('job', { n: 99 });
    return { queue, told, process: child };
  }

  it('ends the process by itself, after what runs has ended', async () => {
    const { queue, told, process } = await started({ n: 1, ms: 500 });
    const [, signal] = await ended(process);
    // Nest ends the process by the signal that it was sent, when all hooks are done.
    expect(signal).toBe('SIGTERM');
    expect(told).toEqual(['ready', { started: 1 }]);
    expect(await queue.getJobCounts('completed', 'active')).toEqual({ completed: 1, active: 0 });
    await queue.close();
    expect(await jobsLeft(queue.name)).toBe(1);
  }, 30_000);

  it('a job that ignores it cannot hold the process for ever; another worker takes the job up', async () => {
    const { queue, process } = await started({ n: 1, deaf: true });
    const fromMs = performance.now();
    await ended(process);
    const tookMs = performance.now() - fromMs;
    expect(tookMs).toBeGreaterThan(9000);
    expect(tookMs).toBeLessThan(13_000);
    // Still there: its lock runs out, and then it is picked up elsewhere.
    expect(await queue.getJobCounts('active')).toEqual({ active: 1 });
    await queue.close();
  }, 30_000);

  async function ended(process: ChildProcess) {
    const exit = once(process, 'exit');
    process.kill('SIGTERM');
    return exit;
  }
});
