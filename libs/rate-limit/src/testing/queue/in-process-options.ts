// The options of the in-process queue. Types only, and none of BullMQ: those of a real queue fit.
import type { PacedQueueOptions, SubmitTerms } from '../../queue/queue-face';

/** BullMQ's options of a job, as far as they do something here. Others are taken and have no effect. */
export interface JobRetries {
  /** How often the processor is called at most. @default 1 */
  attempts?: number;
  /** Ms between two attempts, or BullMQ's strategy; of a jitter, the longest. @default none */
  backoff?: number | { type: string; delay?: number; jitter?: number };
  // BullMQ has some twenty more.
  // oxlint-disable-next-line typescript/no-explicit-any
  [option: string]: any;
}

/** Options of a queue in this process: those of `RateLimitQueueModule.register`. */
export interface InProcessQueueOptions<Data = unknown> extends PacedQueueOptions<Data> {
  job?: JobRetries;
  /** `concurrency`, 10 by default, and `settings.backoffStrategy` do something here. */
  worker?: {
    concurrency?: number;
    // oxlint-disable-next-line typescript/no-explicit-any
    [option: string]: any;
  };
  /** Without effect. */
  connection?: unknown;
}

/** Options of one submission. */
export interface InProcessSubmitOptions extends SubmitTerms {
  job?: JobRetries;
}
