// The 429 that the guard throws, for exception filters to read.
import type { HttpExceptionOptions } from '@nestjs/common';
import type { Decision } from '../core/decision';
import { quotaExceeded } from '../http/problem-body';
import { bindingDecision } from '../http/retry-after';
import { ProblemException } from './problem.exception';

/** A call was refused. The limits that were decided together charged nothing for it. */
export class RateLimitExceededException extends ProblemException {
  /** The decisive one: the denial with the longest wait. */
  readonly binding: Decision;

  constructor(
    /** What every enforced limit of the request said; at least one denial. */
    readonly decisions: readonly Decision[],
    options?: HttpExceptionOptions,
  ) {
    super(quotaExceeded(decisions), options);
    this.binding = bindingDecision(decisions);
  }

  /** The same cost passes after this many ms if nobody else comes. */
  get retryAfterMs(): number {
    return this.binding.retryAfterMs;
  }
}
