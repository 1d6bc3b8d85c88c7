// Jobs that all come at once and start at one rate: how evenly, how late, and in what time. Starts are noted by a worker
// in a process of its own.
import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { mostWithin, percentile } from './figures.mjs';
import { openOurs } from './ours.mjs';
import { openQueue } from './plain.mjs';

const CAPACITY = 10;
const WINDOW_MS = 1000;

/**
 * What each contender promises: when job `k` of all (from 0) is to start, in ms from the first start. Ours tells it
 * with each ticket.
 */
const contenders = {
  ours: {
    name: `nest-rate-limit, capacity ${CAPACITY}`,
    options: (rate) => ({ rate, capacity: CAPACITY }),
    dueMs: (k, rate) => (Math.max(0, k - CAPACITY + 1) * 1000) / rate,
  },
  limiter: {
    name: "BullMQ's limiter, one window a second",
    options: (rate) => ({ limiter: { max: rate, duration: WINDOW_MS } }),
    dueMs: (k, rate) => Math.floor(k / rate) * WINDOW_MS,
  },
  delayed: {
    name: 'BullMQ, delayed jobs',
    options: () => ({}),
    dueMs: (k, rate) => (k * 1000) / rate,
  },
};

export async function pacing(what, { redis, rate, jobs }) {
  const { name, options, dueMs } = contenders[what];
  const config = { redis, name: `bench-${randomUUID()}`, ...options(rate) };
  const worker = fork(fileURLToPath(new URL('worker.mjs', import.meta.url)), [
    JSON.stringify({ what, jobs, ...config }),
  ]);
  await once(worker, 'message');
  const ended = once(worker, 'message');
  const numbers = Array.from({ length: jobs }, (_, k) => k);
  const { queue, close } = what === 'ours' ? await openOurs(config) : openQueue(config);
  const fromMs = performance.timeOrigin + performance.now();
  let tickets;
  if (what === 'ours') {
    tickets = await queue.submitMany(numbers.map((k) => ({ data: { k } })));
  } else {
    const delayOf = (k) => (what === 'delayed' ? { delay: dueMs(k, rate) } : {});
    await queue.addBulk(numbers.map((k) => ({ name: 'job', data: { k }, opts: delayOf(k) })));
  }
  const [{ starts }] = await ended;
  worker.send('close');
  await once(worker, 'exit');
  await close();
  const times = starts.map(({ atMs }) => atMs).sort((a, b) => a - b);
  // A plan begins with the first start, except that of delays, which begins with the submission.
  const planMs = what === 'delayed' ? fromMs : times[0];
  const late = tickets
    ? starts.map(({ k, atMs }) => atMs - tickets[k].startsAt)
    : times.map((atMs, k) => atMs - planMs - dueMs(k, rate));
  return {
    name,
    most: mostWithin(times, 1000),
    p50: percentile(late, 0.5),
    p99: percentile(late, 0.99),
    totalS: (times[jobs - 1] - fromMs) / 1000,
    plannedS: dueMs(jobs - 1, rate) / 1000,
  };
}
