// What a job costs where nobody waits: submitted and worked off in this process.
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { openOurs } from './ours.mjs';
import { openQueue, openWorker } from './plain.mjs';

const AT_ONCE = 64;
const PLENTY = { rate: 1e6, capacity: 1e6, startToleranceMs: 1000 };
const WARM_UP = 500;

export async function overhead(what, { redis, jobs }) {
  let left = WARM_UP;
  let done;
  const process_ = () => {
    if (--left === 0) done();
  };
  const name = `bench-${randomUUID()}`;
  const open = what === 'ours' ? await ours() : await plain();
  await run(WARM_UP);
  const admin = new Redis(redis);
  const redisBefore = await redisCpuUs(admin);
  const nodeBefore = process.cpuUsage();
  const fromMs = performance.now();
  await run(jobs);
  const tookMs = performance.now() - fromMs;
  const { user, system } = process.cpuUsage(nodeBefore);
  const redisUs = ((await redisCpuUs(admin)) - redisBefore) / jobs;
  admin.disconnect();
  await open.close();
  return {
    name: what === 'ours' ? 'nest-rate-limit' : 'BullMQ: Queue.add and a worker',
    perSecond: (jobs / tookMs) * 1000,
    nodeUs: (user + system) / jobs,
    redisUs,
  };

  async function run(count) {
    left = count;
    const ended = new Promise((resolve) => (done = resolve));
    let next = 0;
    const submitter = async () => {
      while (next < count) await open.submit({ n: next++ });
    };
    await Promise.all(Array.from({ length: AT_ONCE }, submitter));
    await ended;
  }

  async function ours() {
    const { queue, close } = await openOurs({ redis, name, process: process_, ...PLENTY });
    return { submit: (data) => queue.submit(data), close };
  }

  async function plain() {
    const { queue, close } = openQueue({ redis, name });
    const worker = await openWorker({ redis, name, process: process_ });
    // As ours does: ended jobs stay for an hour.
    const opts = { removeOnComplete: { age: 3600 }, removeOnFail: { age: 3600 } };
    return {
      submit: (data) => queue.add('job', data, opts),
      close: () => Promise.all([worker.close(), close()]),
    };
  }
}

async function redisCpuUs(redis) {
  const info = await redis.info('cpu');
  const seconds = (field) => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}
