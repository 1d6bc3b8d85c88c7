// The public surface of `nest-rate-limit/queue`.
export { deferTo, type DeferToOptions } from './defer-to.decorator';
export type { JobEnding } from './ending';
export type { JobBody } from './job-answer';
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
export type { PacedQueueOptions, QueueCounts, ResultOptions, SubmitTerms } from './queue-face';
export type { RateLimitQueueOptions } from './queue-options';
export { RateLimitedQueue, type SubmitItem, type SubmitOptions } from './rate-limited-queue';
export { getRateLimitedQueueToken } from './rate-limit-queue.constants';
export { InjectRateLimitedQueue, RateLimitedProcessor } from './rate-limit-queue.decorator';
export { type RateLimitQueueAsyncOptions, RateLimitQueueModule } from './rate-limit-queue.module';
export { RateLimitStatusModule, type RateLimitStatusOptions } from './rate-limit-status.module';
export type { Ticket } from './ticket';
