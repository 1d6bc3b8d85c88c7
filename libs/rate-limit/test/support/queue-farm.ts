// A queue under test: submitted to from the test's own process, worked off by processes of their own.
import { randomUUID } from 'node:crypto';
import { parseLimit } from '../../src/core/limit';
import type { RateLimitQueueOptions } from '../../src/queue/queue-options';
import { openQueue, type OpenQueue } from '../../src/queue/open-queue';
import type { RateLimitedQueue } from '../../src/queue/rate-limited-queue';
import type { Charge, Grants } from './queue-charges';
import type { ExactEnvelope } from './queue-envelope';
import { type Start, StartRecorder } from './queue-recorder';
import { queueParts, type QueueSetup } from './queue-setup';
import { QueueWorker, type Report } from './queue-worker';
import type { Work, WorkerConfig } from './queue-worker-process';
import { sharedRedisUrl, uniquePrefix } from './redis-server';

export type FarmOptions = Partial<Omit<QueueSetup, 'options'>> &
  Omit<Partial<RateLimitQueueOptions>, 'key' | 'policy'>;

/** What all workers of a farm did, put together. */
export interface Tally {
  readonly charges: readonly Charge[];
  readonly grants: readonly Grants[];
  /** Pick-ups by workers, as the scripts saw them. */
  readonly pickUps: number;
  /** The longest that any worker process was late for a timer. */
  readonly stallMs: number;
}

export class QueueFarm {
  readonly workers: QueueWorker[] = [];
  readonly errors: unknown[] = [];
  readonly #opened: OpenQueue[] = [];
  readonly #gone: Report[] = [];

  private constructor(
    readonly setup: QueueSetup,
    readonly recorder: StartRecorder,
  ) {}

  static async create({
    redis = sharedRedisUrl(),
    keyPrefix = uniquePrefix(),
    keyed,
    policy,
    timeoutMs,
    ...options
  }: FarmOptions): Promise<QueueFarm> {
    const name = `queue-${randomUUID()}`;
    const setup = { redis, keyPrefix, keyed, policy, timeoutMs, options: { name, ...options } };
    return new QueueFarm(setup, await StartRecorder.start());
  }

  /** The queue in this process; only submits. */
  submitter(changes: FarmOptions = {}): RateLimitedQueue<Work, { n: number }> {
    return this.open(changes).queue as unknown as RateLimitedQueue<Work, { n: number }>;
  }

  open(changes: FarmOptions = {}): OpenQueue {
    const { options, around } = queueParts(this.#changed(changes), (error) =>
      this.errors.push(error),
    );
    const open = openQueue(options, around);
    this.#opened.push(open);
    return open;
  }

  /** Starts worker processes. */
  async work(
    processes: number,
    { workers, ...changes }: FarmOptions & Pick<WorkerConfig, 'workers'> = {},
  ): Promise<QueueWorker[]> {
    const config = { ...this.#changed(changes), recorder: this.recorder.url, workers };
    const started = await Promise.all(
      Array.from({ length: processes }, () => QueueWorker.start(config)),
    );
    this.workers.push(...started);
    return started;
  }

  /** Closes all workers that run; what they did stays in the tally. */
  async stopWorkers(): Promise<void> {
    const running = this.workers.filter((worker) => worker.running);
    const reports = await Promise.all(running.map((worker) => worker.close()));
    this.#gone.push(...reports);
  }

  /** Everything that happened in workers that were not killed. */
  async tally(): Promise<Tally> {
    const running = this.workers.filter((worker) => worker.running);
    const reports = await Promise.all(running.map((worker) => worker.report()));
    const everybody = [...this.#gone, ...reports];
    const all = everybody.map(({ log }) => log);
    return {
      charges: all.flatMap(({ charges }) => charges).sort((a, b) => a.ranAtUs - b.ranAtUs),
      grants: all.flatMap(({ grants }) => grants).sort((a, b) => a.atUs - b.atUs),
      pickUps: all.reduce((sum, { calls }) => sum + (calls.start ?? 0), 0),
      stallMs: Math.max(0, ...everybody.map(({ stallMs }) => stallMs)),
    };
  }

  /** The starts, as soon as there are so many. */
  until(count: number, ms = 30_000): Promise<Start[]> {
    return this.recorder.until(count, ms);
  }

  /** The numbers that the scripts count with. */
  get envelope(): ExactEnvelope {
    const { rate, per, capacity } = this.setup.policy ?? this.setup.options;
    return parseLimit({ rate: rate as number, per, capacity }, 'test');
  }

  /** Ends everything, in any state. */
  async end(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.kill()));
    await Promise.all(this.#opened.map(({ queue }) => queue.close()));
    await this.recorder.stop();
  }

  #changed({ redis, keyPrefix, keyed, policy, timeoutMs, ...options }: FarmOptions): QueueSetup {
    const { setup } = this;
    return {
      redis: redis ?? setup.redis,
      keyPrefix: keyPrefix ?? setup.keyPrefix,
      keyed: keyed ?? setup.keyed,
      policy: policy ?? setup.policy,
      timeoutMs: timeoutMs ?? setup.timeoutMs,
      options: { ...setup.options, ...options },
    };
  }
}
