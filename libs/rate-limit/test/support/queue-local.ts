// A queue with its worker in the test's own process: for what is not about time or crashes.
import { randomUUID } from 'node:crypto';
import type { Job } from 'bullmq';
import { parseLimit } from '../../src/core/limit';
import { type OpenQueue, openQueue } from '../../src/queue/open-queue';
import type { ProcessContext } from '../../src/queue/paced-worker';
import type { RateLimitedQueue } from '../../src/queue/rate-limited-queue';
import { type Charge, logScripts } from './queue-charges';
import type { ExactEnvelope } from './queue-envelope';
import type { FarmOptions } from './queue-farm';
import { queueParts, type QueueSetup } from './queue-setup';
import { sharedRedisUrl, uniquePrefix } from './redis-server';

export type Process = (job: Job, context: ProcessContext) => unknown;

/** A run of the processor. */
export interface Run {
  readonly data: unknown;
  readonly atMs: number;
}

/** Of all queues in this process. */
const charged: Charge[] = [];
logScripts(({ charges = [] }) => charged.push(...charges));

export class LocalQueue {
  readonly runs: Run[] = [];
  readonly errors: unknown[] = [];
  readonly queue: RateLimitedQueue;
  readonly #open: OpenQueue[] = [];

  constructor(
    readonly setup: QueueSetup,
    private readonly process: Process,
  ) {
    this.queue = this.instance();
  }

  /** Opens a queue, and a worker for it unless `submitOnly`. */
  static async start(
    { redis, keyPrefix, keyed, policy, timeoutMs, submitOnly, ...options }: FarmOptions,
    process: Process = ({ data }) => ({ did: data as unknown }),
  ): Promise<LocalQueue> {
    const local = new LocalQueue(
      {
        redis: redis ?? sharedRedisUrl(),
        keyPrefix: keyPrefix ?? uniquePrefix(),
        keyed,
        policy,
        timeoutMs,
        options: { name: `local-${randomUUID()}`, ...options },
      },
      process,
    );
    if (submitOnly !== true) await local.work();
    return local;
  }

  /** Another instance of the queue, as in another process that only submits. */
  instance(): RateLimitedQueue {
    const { options, around } = queueParts(this.setup, (error) => this.errors.push(error));
    const open = openQueue(options, around);
    this.#open.push(open);
    return open.queue as unknown as RateLimitedQueue;
  }

  async work(): Promise<void> {
    await this.#open[0].work({
      process: (job: Job, context: ProcessContext) => {
        this.runs.push({ data: job.data as unknown, atMs: performance.now() });
        return this.process(job, context);
      },
    } as never);
  }

  /** What the jobs of these tickets were charged and when, by Redis' clock: no busy machine makes it late. */
  charges(tickets: readonly { readonly id: string }[]): Charge[] {
    return tickets.flatMap(({ id }) => charged.filter((charge) => charge.id === id));
  }

  /** The numbers that the scripts count with. */
  get envelope(): ExactEnvelope {
    const { rate, per, capacity } = this.setup.policy ?? this.setup.options;
    return parseLimit({ rate: rate as number, per, capacity }, 'test');
  }

  /** What ran, in order. */
  get ran(): unknown[] {
    return this.runs.map(({ data }) => data);
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map(({ queue }) => queue.close()));
  }
}
