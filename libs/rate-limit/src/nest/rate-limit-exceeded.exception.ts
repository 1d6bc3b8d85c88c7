// The 429 that the guard throws, for exception filters to read.
import { HttpException, HttpStatus } from '@nestjs/common';
import type { Decision } from '../core/decision';
import { quotaExceeded, type ProblemBody } from '../http/problem-body';
import { bindingDecision } from '../http/retry-after';

/**
 * A call was refused. Nothing was charged for it by the limits that were decided together.
 *
 * Headers (`Retry-After`, the rate limit fields, `Content-Type: application/problem+json`) are on the
 * response already when it is thrown; a filter that answers with something else sets its own
 * `Content-Type`.
 */
export class RateLimitExceededException extends HttpException {
  /** The decisive one: the denial with the longest wait. */
  readonly binding: Decision;

  constructor(
    /** What every enforced limit of the request said; at least one denial. */
    readonly decisions: readonly Decision[],
    options?: { cause?: unknown },
  ) {
    super(quotaExceeded(decisions), HttpStatus.TOO_MANY_REQUESTS, options);
    this.binding = bindingDecision(decisions);
  }

  /** The same cost passes after this many ms if nobody else comes. */
  get retryAfterMs(): number {
    return this.binding.retryAfterMs;
  }

  override getResponse(): ProblemBody & object {
    return super.getResponse() as ProblemBody;
  }
}
