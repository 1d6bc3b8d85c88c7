// The errors of the queued limiter; the family is core/errors.ts.
import { RateLimitError } from '../core/errors';
import { wholeNumber } from './whole-number';

/** The lane's or the queue's bound of waiting jobs is reached. Nothing was enqueued. */
export class QueueFullError extends RateLimitError {
  readonly code = 'RATE_LIMIT_QUEUE_FULL';
  override readonly httpStatus: 429 | 503;

  constructor(
    message: string,
    /** Whose bound: that of the job's key (429), or that of the whole queue (503). */
    readonly bound: 'key' | 'queue',
    /** Milliseconds until a job submitted now would have started. */
    readonly retryAfterMs: number,
  ) {
    super(message);
    this.httpStatus = bound === 'key' ? 429 : 503;
  }
}

/** The same idempotency key was used with another payload. Nothing was enqueued. */
export class IdempotencyConflictError extends RateLimitError {
  readonly code = 'RATE_LIMIT_IDEMPOTENCY_CONFLICT';
  override readonly httpStatus = 409;
}

/** The job did not start within its `maxWaitMs`; its processor was never called. */
export class JobExpiredError extends RateLimitError {
  readonly code = 'RATE_LIMIT_JOB_EXPIRED';
}

/** The job was cancelled, or removed by other means, before it ended. */
export class JobCancelledError extends RateLimitError {
  readonly code = 'RATE_LIMIT_JOB_CANCELLED';
}

/** The job's processor failed for good; the message is the processor's. */
export class JobFailedError extends RateLimitError {
  readonly code = 'RATE_LIMIT_JOB_FAILED';
}

/** The job did not end within the time that was given. It goes on. */
export class ResultTimeoutError extends RateLimitError {
  readonly code = 'RATE_LIMIT_RESULT_TIMEOUT';
}

/**
 * Thrown by a processor: pauses this job's key for `ms`, puts the job back to the head of its line,
 * and burns no attempt. For an upstream that answered 429.
 */
export class RetryKeyLater extends Error {
  /**
   * @param ms how long the key pauses; a whole number of ms, at least 0
   * @throws InvalidLimitError for anything else, here where it is thrown: as any error, it fails the attempt
   */
  constructor(readonly ms: number) {
    super(`this key pauses for ${String(ms)} ms`);
    wholeNumber(ms, 'RetryKeyLater', 'ms', 0);
    this.name = 'RetryKeyLater';
  }
}
