// Which lane a job is in: written into its options at submit, else worked out from its payload.
import { Job, type JobsOptions, type Queue } from 'bullmq';
import { InvalidLimitError } from '../core/errors';
import { costThousandths } from '../core/limit';

/** What submit leaves in a job's options; every BullMQ tool shows it. */
export interface PacedJobOptions extends JobsOptions {
  readonly rateLimit?: {
    readonly lane: string;
    /** Thousandths of a token. */
    readonly cost: number;
    /** How another process finds the lane. */
    readonly record: string;
  };
}

/**
 * BullMQ's delay of a job that waits its turn: the pacer promotes it, when its turn or its deadline has
 * come. Were its deadline the delay, all that are late after an outage would stand before those that may start.
 */
export const PARKED_MS = 365 * 24 * 3_600_000;

/** Thousandths of one token: the cost of a job that was added without us. */
export const ONE_TOKEN = costThousandths(1);

/** What submit wrote; `undefined` for a job that was added by other tools. */
export function pacedOptions(job: Pick<Job, 'opts'>): PacedJobOptions['rateLimit'] {
  return (job.opts as PacedJobOptions).rateLimit;
}

class UncheckedJob extends Job {
  check(): void {
    this.validateOptions(this.asJSON());
  }
}

/**
 * Asks BullMQ whether it would take the job, before anything is accepted.
 * @throws InvalidLimitError with BullMQ's reason
 */
export function checkedJob(queue: Queue, data: unknown, options: JobsOptions, place: string): void {
  try {
    new UncheckedJob(queue, queue.name, data, options).check();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new InvalidLimitError(`${place}: BullMQ refuses the job: ${reason}`, { cause: error });
  }
}
