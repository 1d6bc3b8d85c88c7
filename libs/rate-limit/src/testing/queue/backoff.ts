// Pure: how long a job rests between two attempts, by BullMQ's options.
import type { InProcessJob } from './in-process-job';

/** BullMQ's `settings.backoffStrategy` of a worker; -1 = no further attempt. */
export type BackoffStrategy = (
  attemptsMade: number,
  type: string,
  error: Error,
  job: InProcessJob,
) => number | Promise<number>;

/**
 * Ms until the next attempt; -1 = there is none. A jitter never shortens it: a test is to find the same each time.
 * @param attemptsMade the one that failed included
 */
export async function backoffMs(
  job: InProcessJob,
  attemptsMade: number,
  error: unknown,
  strategy: BackoffStrategy | undefined,
): Promise<number> {
  const { backoff } = job.opts;
  if (backoff === undefined) return 0;
  if (typeof backoff === 'number') return backoff;
  const { type, delay = 0 } = backoff;
  if (type === 'fixed') return delay;
  if (type === 'exponential') return Math.round(2 ** (attemptsMade - 1) * delay);
  if (strategy !== undefined) return strategy(attemptsMade, type, error as Error, job);
  throw new Error(`Unknown backoff strategy ${type}`);
}
