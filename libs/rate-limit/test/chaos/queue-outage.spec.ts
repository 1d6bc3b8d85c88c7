// Redis is away, comes back, or comes back empty: who submits is told in time and nothing of it runs later, workers
// go on by themselves, and nothing starts unpaid.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { StoreUnavailableError } from '../../src/core/errors';
import { openQueue } from '../../src/queue/open-queue';
import { OutageLog } from '../../src/queue/outage-log';
import type { RateLimitedQueue } from '../../src/queue/rate-limited-queue';
import { excess, excessCredits } from '../support/queue-envelope';
import { QueueFarm } from '../support/queue-farm';
import { noteFigures } from '../support/queue-figures';
import { queueParts } from '../support/queue-setup';
import type { Work } from '../support/queue-worker-process';
import { RedisServer } from '../support/redis-server';

const TIMEOUT_MS = 500;
/** Timers and a busy machine. */
const MARGIN_MS = 500;
const SUBMISSIONS = 40;

const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

let server: RedisServer;
let farm: QueueFarm;
beforeAll(() => process.on('unhandledRejection', note));
afterAll(() => process.off('unhandledRejection', note));
beforeEach(async () => {
  server = await RedisServer.start();
});
afterEach(async () => {
  await farm.end();
  await server.stop();
  if (unhandled.length > 0) throw unhandled[0];
});

type Submitter = Pick<RateLimitedQueue<Work>, 'submit'>;

/** How submissions ended, and how long the slowest took. */
async function submissions(queue: Submitter, count: number, from = 0) {
  const fromMs = performance.now();
  const ends = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      queue.submit({ n: from + i }).then(
        () => undefined,
        (error: unknown) => error as Error,
      ),
    ),
  );
  return { ends, tookMs: performance.now() - fromMs };
}

/** As soon as a submission is taken again. */
async function backWithin(queue: Submitter, ms: number, n: number) {
  const fromMs = performance.now();
  for (;;) {
    const { ends } = await submissions(queue, 1, n);
    if (ends[0] === undefined) return performance.now() - fromMs;
    if (performance.now() - fromMs > ms) throw ends[0];
    await delay(20);
  }
}

async function startedNumbers(): Promise<number[]> {
  return (await farm.recorder.starts()).map(({ n }) => Number(n)).sort((a, b) => a - b);
}

interface Outage {
  readonly what: string;
  /** Before the queue is opened. */
  readonly before?: () => Promise<void>;
  readonly begin: () => Promise<void> | void;
  readonly end: () => Promise<void> | void;
}

const outages: Outage[] = [
  { what: 'is frozen', begin: () => server.pause(), end: () => server.resume() },
  { what: 'was killed', begin: () => server.kill(), end: () => server.restart() },
  {
    what: 'never was there',
    before: () => server.kill(),
    begin: () => undefined,
    end: () => server.restart(),
  },
];

describe('a submission while Redis is away', () => {
  it.each(outages)(
    'fails in time when it $what, and does not run when it is back',
    async ({ what, before, begin, end }) => {
      await before?.();
      farm = await QueueFarm.create({
        redis: server.url,
        rate: 1000,
        capacity: 1000,
        timeoutMs: TIMEOUT_MS,
      });
      const queue = farm.submitter();
      if (before === undefined) await queue.submit({ n: -1 });
      await begin();
      const { ends, tookMs } = await submissions(queue, SUBMISSIONS);
      for (const end of ends) {
        expect(end).toBeInstanceOf(StoreUnavailableError);
        expect(end).toMatchObject({ httpStatus: 503 });
      }
      expect(tookMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
      // One after the other, they wait no longer either.
      expect((await submissions(queue, 1)).tookMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
      await end();
      const backMs = await backWithin(queue, 5000, 1000);
      await farm.work(1);
      await queue.submit({ n: 1001 });
      await farm.until(what === 'is frozen' ? 3 : 2);
      await delay(300);
      expect((await startedNumbers()).filter((n) => n >= 0)).toEqual([1000, 1001]);
      expect(await farm.submitter().counts()).toMatchObject({ waiting: 0, active: 0, failed: 0 });
      noteFigures(`outage: submit, Redis ${what}`, { tookMs, backMs });
    },
    30_000,
  );

  it('of a flood, in the middle of which Redis freezes: what was accepted runs once, what was not never after the freeze', async () => {
    farm = await QueueFarm.create({
      redis: server.url,
      rate: 10_000,
      capacity: 10_000,
      timeoutMs: TIMEOUT_MS,
    });
    await farm.work(1);
    const queue = farm.submitter();
    let accepted: number[] = [];
    const frozeAtMs: number[] = [];
    for (let round = 0; round < 5; round++) {
      const from = round * 1000;
      const flood = submissions(queue, 1000, from);
      await delay(60 + 17 * round);
      server.pause();
      frozeAtMs.push(performance.timeOrigin + performance.now());
      const { ends } = await flood;
      server.resume();
      accepted = accepted.concat(ends.flatMap((end, i) => (end === undefined ? [from + i] : [])));
      await backWithin(queue, 5000, 10_000 + round);
    }
    expect(accepted.length).toBeLessThan(5000);
    await farm.until(accepted.length + 5);
    await delay(1000);
    const starts = (await farm.recorder.starts()).map(({ n, atMs }) => ({ n: Number(n), atMs }));
    const floods = starts.filter(({ n }) => n < 10_000).sort((a, b) => a.n - b.n);
    const told = new Set(accepted);
    expect(floods.map(({ n }) => n).filter((n) => told.has(n))).toEqual(accepted);
    // A job that ran while Redis was there, whose submitter had no answer in time: nobody can take that back. Its start
    // was on its way to the recorder for a moment.
    const untold = floods.filter(({ n }) => !told.has(n));
    expect(untold.filter(({ n, atMs }) => atMs > frozeAtMs[Math.floor(n / 1000)] + 50)).toEqual([]);
    noteFigures('outage: flood', { accepted: accepted.length });
  }, 60_000);
});

describe('workers and pacers', () => {
  const RATE = 50;
  const CAPACITY = 10;

  it.each<{ what: string; fault: () => Promise<unknown> }>([
    {
      what: 'frozen for 2 s',
      fault: async () => {
        server.pause();
        await delay(2000);
        server.resume();
      },
    },
    {
      what: 'killed, and back empty after 2 s',
      fault: async () => {
        await server.kill();
        await delay(2000);
        await server.restart();
      },
    },
    { what: 'stopped, and back empty at once', fault: () => server.restart() },
    {
      what: 'flushed',
      fault: async () => {
        const admin = new Redis(server.url);
        await admin.flushall();
        admin.disconnect();
      },
    },
  ])(
    'go on by themselves after a Redis that was $what, and nothing starts unpaid',
    async (outage) => {
      farm = await QueueFarm.create({
        redis: server.url,
        rate: RATE,
        capacity: CAPACITY,
        timeoutMs: TIMEOUT_MS,
      });
      const workers = await farm.work(2);
      const queue = farm.submitter();
      await submissions(queue, 100);
      await farm.until(40);
      await outage.fault();
      const backMs = await backWithin(queue, 5000, 1000);
      await submissions(queue, 60, 1001);
      const endsMs = performance.now() + 20_000;
      const after = async () => (await startedNumbers()).filter((n) => n >= 1000);
      while ((await after()).length < 61 && performance.now() < endsMs) await delay(100);
      expect(await after()).toEqual(Array.from({ length: 61 }, (_, i) => 1000 + i));
      // By the clock of Redis, exactly; timing/ judges the starts as the service behind sees them.
      const { charges, stallMs } = await farm.tally();
      expect(excessCredits(charges, farm.envelope)).toBeLessThanOrEqual(0);
      const starts = await farm.recorder.starts();
      const ahead = excess(
        starts.map(({ atMs }) => atMs),
        { capacity: CAPACITY, ratePerMs: RATE / 1000 },
      );
      // An unhandled rejection would have ended it.
      expect(workers.map(({ running }) => running)).toEqual([true, true]);
      noteFigures(`outage: workers, Redis ${outage.what}`, {
        backMs,
        ahead,
        stallMs,
        starts: starts.length,
      });
    },
    60_000,
  );

  it('that were started before Redis find it when it comes', async () => {
    await server.kill();
    farm = await QueueFarm.create({ redis: server.url, rate: 100, capacity: 10 });
    const [worker] = await farm.work(1);
    await server.restart();
    const queue = farm.submitter();
    await backWithin(queue, 5000, 0);
    await submissions(queue, 30, 1);
    await farm.until(31);
    expect(worker.running).toBe(true);
  }, 30_000);

  it('say once that Redis is away, and once that it is back', async () => {
    farm = await QueueFarm.create({ redis: server.url, rate: 100, timeoutMs: TIMEOUT_MS });
    const lines: string[] = [];
    const log = new OutageLog({
      error: (line) => lines.push(line),
      log: (line) => lines.push(line),
    });
    const { options, around } = queueParts(farm.setup, (error) => log.error(error));
    const open = openQueue(options, { ...around, onAnswer: () => log.answered() });
    await open.work({ process: () => undefined });
    const queue = open.queue as unknown as RateLimitedQueue<Work>;
    for (let i = 0; i < 2; i++) {
      await server.kill();
      await submissions(queue, 50);
      await delay(1500);
      await server.restart();
      await backWithin(queue, 5000, i);
      await delay(2000);
    }
    const away = expect.stringMatching(/^Redis is away: ./);
    expect(lines).toEqual([away, 'Redis answers again', away, 'Redis answers again']);
    await queue.close();
  }, 30_000);
});
