// The options of a queue, checked once. Framework-free.
import type { ConnectionOptions, JobsOptions, WorkerOptions } from 'bullmq';
import { InvalidLimitError, UnsupportedOperationError } from '../core/errors';
import { shown } from '../core/limit';
import type { PacedQueueOptions, QueueBounds } from './queue-face';
import { wholeNumber } from './whole-number';

/** Options of one queue. `Data` is the payload of its jobs. */
export interface RateLimitQueueOptions<Data = unknown> extends PacedQueueOptions<Data> {
  /** BullMQ's own options for every job: attempts, backoff, removeOnComplete … */
  job?: JobsOptions;
  /** BullMQ's own options of the worker. @default { concurrency: 10 } */
  worker?: Partial<WorkerOptions>;
  /** @default the module's redis */
  connection?: ConnectionOptions | string;
}

/** Job options that would break the order or the pace, and what to use instead. */
const REFUSED_JOB_OPTIONS: Readonly<Record<string, string>> = {
  delay: 'the queue decides when a job starts',
  timestamp: 'the queue sets it from the time of Redis',
  jobId: 'use idempotencyKey',
  deduplication: 'use idempotencyKey',
  priority: 'jobs of one key start in the order of their submission',
  lifo: 'jobs of one key start in the order of their submission',
  repeat: 'submit from a scheduler of your own',
};
const OPTION_NAMES = [
  'name',
  'rate',
  'per',
  'capacity',
  'algorithm',
  'policy',
  'share',
  'key',
  'maxQueue',
  'maxQueueTotal',
  'maxWaitMs',
  'startToleranceMs',
  'resultTtlMs',
  'job',
  'worker',
  'connection',
  'submitOnly',
];

/**
 * @throws InvalidLimitError for options that cannot be stored
 * @throws UnsupportedOperationError for a job option that the queue decides itself
 */
export function checkJobOptions(job: JobsOptions | undefined, place: string): void {
  if (job === undefined) return;
  if (typeof job !== 'object' || job === null) {
    throw new InvalidLimitError(`${place}: job ${shown(job)} is not a set of options of BullMQ`);
  }
  for (const [option, why] of Object.entries(REFUSED_JOB_OPTIONS)) {
    if ((job as Record<string, unknown>)[option] !== undefined) {
      throw new UnsupportedOperationError(`${place}: job.${option} cannot be set: ${why}`);
    }
  }
  try {
    JSON.stringify(job, refuseUnstorable);
  } catch (error) {
    throw new InvalidLimitError(`${place}: job cannot be stored: ${String(error)}`, {
      cause: error,
    });
  }
}

function refuseUnstorable(name: string, value: unknown): unknown {
  const stored = typeof value === 'number' ? Number.isFinite(value) : typeof value !== 'symbol';
  if (!stored) throw new TypeError(`${name} is ${shown(value)}`);
  return value;
}

/**
 * The bounds of a queue.
 * @throws InvalidLimitError, UnsupportedOperationError naming queue, option and value
 */
export function queueBounds(options: RateLimitQueueOptions<never>, place: string): QueueBounds {
  for (const option of Object.keys(options)) {
    if (!OPTION_NAMES.includes(option)) {
      throw new InvalidLimitError(
        `${place}: option ${shown(option)} is unknown; known: ${OPTION_NAMES.join(', ')}`,
      );
    }
  }
  const { policy, share, key, worker, rate } = options;
  if (policy !== undefined && rate !== undefined) {
    throw new InvalidLimitError(`${place}: give policy or rate, not both`);
  }
  if (rate === undefined && (options.capacity !== undefined || options.per !== undefined)) {
    throw new InvalidLimitError(`${place}: capacity and per need a rate`);
  }
  if (share !== undefined && !(typeof share === 'number' && share > 0 && share <= 1)) {
    throw new InvalidLimitError(`${place}: share ${shown(share)} is not above 0 and at most 1`);
  }
  if (share !== undefined && share !== 1 && rate !== undefined) {
    throw new InvalidLimitError(
      `${place}: share ${share} is for a shared bucket; a queue with its own rate has all of it`,
    );
  }
  if (key !== undefined && typeof key !== 'function') {
    throw new InvalidLimitError(`${place}: key ${shown(key)} is not a function of the payload`);
  }
  if (worker?.limiter !== undefined) {
    throw new UnsupportedOperationError(
      `${place}: worker.limiter cannot be set: BullMQ's limiter is one fixed window for all keys`,
    );
  }
  checkJobOptions(options.job, place);
  return {
    maxQueue: wholeNumber(options.maxQueue ?? 10_000, place, 'maxQueue', 0),
    maxQueueTotal: wholeNumber(options.maxQueueTotal ?? 1_000_000, place, 'maxQueueTotal', 0),
    maxWaitMs: wholeNumber(options.maxWaitMs ?? 3_600_000, place, 'maxWaitMs', 0),
    startToleranceMs: wholeNumber(options.startToleranceMs ?? 25, place, 'startToleranceMs', 1),
    resultTtlMs: wholeNumber(options.resultTtlMs ?? 3_600_000, place, 'resultTtlMs', 1),
  };
}

/** @throws InvalidLimitError unless BullMQ can take the name */
export function queueName({ name }: { name: string }): string {
  if (typeof name !== 'string' || name === '' || name.includes(':')) {
    throw new InvalidLimitError(
      `RateLimitQueueModule: name ${shown(name)} is no name of a queue: give a text without colons`,
    );
  }
  return name;
}
