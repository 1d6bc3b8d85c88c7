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
export { getRateLimitedQueueToken } from './rate-limit-queue.constants';
export { InjectRateLimitedQueue, RateLimitedProcessor } from './rate-limit-queue.decorator';
export { type RateLimitQueueAsyncOptions, RateLimitQueueModule } from './rate-limit-queue.module';
export type { Ticket } from './ticket';
