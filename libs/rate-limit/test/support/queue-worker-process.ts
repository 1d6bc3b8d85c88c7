// A worker process of a queue test: `node -r queue-ts-hook.cjs queue-worker-process.ts '<WorkerConfig as JSON>'`.
// What a job does stands in its payload.
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { openQueue } from '../../src/queue/open-queue';
import { RetryKeyLater } from '../../src/queue/queue-errors';
import { logScripts, type ScriptLog } from './queue-charges';
import { queueParts, type QueueSetup } from './queue-setup';

/** The payload of a test job. */
export interface Work {
  readonly n: number;
  readonly key?: string;
  /** How long it works, in ms, and whether it does so without yielding. */
  readonly ms?: number;
  /** Attempts that fail before one succeeds. */
  readonly failures?: number;
  /** Pauses its key for so many ms, that many times. */
  readonly laterMs?: number;
  readonly laterTimes?: number;
}

export interface WorkerConfig extends QueueSetup {
  /** The recorder that each start is told to; left out, starts are not told. */
  readonly recorder?: string;
  /** Workers in this process, each with a pacer and connections of its own. @default 1 */
  readonly workers?: number;
}

const config = JSON.parse(process.argv[2]) as WorkerConfig;
const agent = new Agent({ keepAlive: true, maxSockets: 200 });
const laters = new Map<number, number>();

function told(work: Work, attempt: number, picks: number): Promise<void> {
  if (config.recorder === undefined) return Promise.resolve();
  const query = `n=${work.n}&key=${encodeURIComponent(work.key ?? '')}&pid=${process.pid}&attempt=${attempt}&picks=${picks}`;
  return new Promise((resolve, reject) => {
    request(`${config.recorder}/start?${query}`, { method: 'POST', agent }, (response) => {
      response.resume();
      response.on('end', resolve);
    })
      .on('error', reject)
      .end();
  });
}

const log: ScriptLog = { charges: [], grants: [], calls: {} };
logScripts(({ charges = [], grants = [], calls = {} }) => {
  log.charges.push(...charges);
  log.grants.push(...grants);
  for (const [name, count] of Object.entries(calls)) {
    log.calls[name] = (log.calls[name] ?? 0) + count;
  }
});

// How long this process could not do anything: what it was late, its starts are late as well.
let stallMs = 0;
const TICK_MS = 5;
let tickDueMs = performance.now() + TICK_MS;
setInterval(() => {
  stallMs = Math.max(stallMs, performance.now() - tickDueMs);
  tickDueMs = performance.now() + TICK_MS;
}, TICK_MS).unref();

const { options, around } = queueParts(config, (error) =>
  process.send?.({ error: error instanceof Error ? `${error.name}: ${error.message}` : error }),
);
const queues = Array.from({ length: config.workers ?? 1 }, () => openQueue(options, around));

const processor = {
  async process(job: { data: Work; attemptsMade: number; attemptsStarted: number }) {
    const { data: work } = job;
    await told(work, job.attemptsMade + 1, job.attemptsStarted);
    const later = laters.get(work.n) ?? 0;
    if (later < (work.laterTimes ?? 0)) {
      laters.set(work.n, later + 1);
      throw new RetryKeyLater(work.laterMs ?? 0);
    }
    if (work.ms !== undefined) await delay(work.ms);
    if ((work.failures ?? 0) > job.attemptsMade) throw new Error(`attempt ${job.attemptsMade + 1}`);
    return { n: work.n };
  },
};
const working = Promise.all(queues.map((open) => open.work(processor as never)));

process.on('message', (message: 'log' | 'close') => {
  if (message === 'log') process.send?.({ log, stallMs });
  if (message === 'close') void close();
});
process.on('SIGTERM', () => void close());
process.on('disconnect', () => process.exit());

async function close() {
  const fromMs = performance.now();
  await Promise.all(queues.map(({ queue }) => queue.close()));
  agent.destroy();
  process.send?.({ log, stallMs, closedInMs: performance.now() - fromMs });
  // From here on nothing of ours may keep the process alive.
  process.removeAllListeners('disconnect');
  process.removeAllListeners('message');
  process.disconnect();
}

void working.then(() => {
  stallMs = 0;
  process.send?.('ready');
});
