// An HTTP exception whose answer is a problem document (RFC 9457).
import { HttpException, type HttpExceptionOptions } from '@nestjs/common';
import type { ProblemBody } from '../http/problem-body';

/**
 * A refusal of the limiter: 429, or 503 when the store is out and the policy is `closed`.
 *
 * `Retry-After`, the rate limit fields and `Cache-Control` are on the response already when it is
 * thrown by a guard. Unless a filter of the application answers, the body goes out as
 * `application/problem+json`.
 */
export class ProblemException extends HttpException {
  constructor(body: ProblemBody, options?: HttpExceptionOptions) {
    super(body, body.status, options);
  }

  override getResponse(): ProblemBody & object {
    return super.getResponse() as ProblemBody;
  }
}
