// What a submitter holds: when the job starts, and a way to its result.
import type { JobEnding } from './ending';
import type { ResultOptions } from './queue-face';

/** A submitted job. */
export interface Ticket<Result = unknown> {
  /** 128 random bits in hex: unguessable, good for a URL. BullMQ's job id. */
  readonly id: string;
  /**
   * When the job will start, in epoch ms of Redis' clock, if every job before it runs and the limit
   * stays. Known at submit.
   */
  readonly startsAt: number;
  /** The same in ms from the moment of its submission, for who does not trust its own clock. */
  readonly startsInMs: number;
  /** Its place in its key's line; 0 = it may start at once. */
  readonly position: number;
  /** True when this idempotency key had been submitted before: the same job, no second place. */
  readonly known: boolean;
  /**
   * The job's result, from any instance.
   * @throws ResultTimeoutError, JobFailedError, JobExpiredError, JobCancelledError, or the signal's reason
   */
  result(options?: ResultOptions): Promise<Result>;
  /** Takes the job out of its line. False when it runs or has ended: then nothing changes. */
  cancel(): Promise<boolean>;
  /** How it ended; `undefined` while it has not. */
  ending(): Promise<JobEnding | undefined>;
}
