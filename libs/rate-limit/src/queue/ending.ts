// Pure: how a job ended, as it is kept for whoever waits for its result.
import { JobCancelledError, JobExpiredError, JobFailedError } from './queue-errors';

/** How a job ended. */
export type JobEnding =
  | { readonly state: 'completed'; readonly value: unknown }
  | { readonly state: 'failed'; readonly reason: string }
  | { readonly state: 'expired' }
  | { readonly state: 'cancelled' };

/** JSON of an ending. A value that JSON cannot hold is kept as null, as BullMQ does. */
export function endingText(ending: JobEnding): string {
  return JSON.stringify(ending, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

export function parseEnding(text: string): JobEnding {
  return JSON.parse(text) as JobEnding;
}

/**
 * The value of a completed job.
 * @throws JobFailedError, JobExpiredError, JobCancelledError
 */
export function valueOf(id: string, ending: JobEnding): unknown {
  switch (ending.state) {
    case 'completed':
      return ending.value;
    case 'failed':
      throw new JobFailedError(`job ${id} failed: ${ending.reason}`);
    case 'expired':
      throw new JobExpiredError(`job ${id} could not start within its maxWaitMs`);
    case 'cancelled':
      throw new JobCancelledError(`job ${id} was cancelled or removed`);
  }
}
