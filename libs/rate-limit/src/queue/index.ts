// The public surface of `nest-rate-limit/queue`.
export type { JobEnding } from './ending';
export type { ResultOptions } from './job-results';
export type { JobProcessor, ProcessContext } from './paced-worker';
export {
  IdempotencyConflictError,
  JobCancelledError,
  JobExpiredError,
  JobFailedError,
  QueueFullError,
  ResultTimeoutError,
  RetryKeyLater,
} from './queue-errors';
export type { RateLimitQueueOptions } from './queue-options';
export {
  RateLimitedQueue,
  type QueueCounts,
  type SubmitItem,
  type SubmitOptions,
} from './rate-limited-queue';
export type { Ticket } from './ticket';
