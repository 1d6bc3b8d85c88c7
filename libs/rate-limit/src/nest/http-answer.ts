// Which HTTP answer an error of the limiter becomes. What went wrong inside stays inside.
import { HttpException, HttpStatus } from '@nestjs/common';
import { RateLimitError, type RateLimitErrorCode, RateLimitExceededError } from '../core/errors';
import { noPlaceToWait, temporaryReducedCapacity } from '../http/problem-body';
import { retryAfterSeconds } from '../http/retry-after';
import { ProblemException } from './problem.exception';
import { RateLimitExceededException } from './rate-limit-exceeded.exception';

/** When it is worth trying again while the store is out: an outage is probed several times a second. */
const STORE_RETRY_MS = 1000;

/** RFC 6585: a 429 must not be cached. */
export const NEVER_CACHED = ['Cache-Control', 'no-store'] as const;

type Headers = ReadonlyArray<readonly [name: string, value: string]>;

/** An exception to throw, and the headers that go with it. */
export interface HttpAnswer {
  readonly exception: HttpException;
  readonly headers: Headers;
}

/** What a call was about when the store could not decide it. */
export interface AskedCall {
  readonly policies: readonly string[];
  readonly cost: number;
}

/**
 * The answer to anything that was thrown while a call was limited. HTTP exceptions are the
 * application's own word and stay as they are; whatever is no error of ours is a 500.
 */
export function httpAnswer(
  error: unknown,
  call: AskedCall = { policies: [], cost: 1 },
): HttpAnswer {
  if (error instanceof HttpException) return { exception: error, headers: [] };
  if (RateLimitExceededError.is(error)) {
    const exception = new RateLimitExceededException(error.decisions, { cause: error });
    return { exception, headers: refusalHeaders(exception.retryAfterMs) };
  }
  const status = RateLimitError.is(error) ? error.httpStatus : HttpStatus.INTERNAL_SERVER_ERROR;
  if (status === 429 || status === 503) {
    const { code, retryAfterMs = STORE_RETRY_MS } = error as WaitingError;
    const refused = { ...call, reason: SENTENCES[code], retryAfterMs };
    const body = status === 429 ? noPlaceToWait(refused) : temporaryReducedCapacity(refused);
    return {
      exception: new ProblemException(body, { cause: error }),
      headers: [
        ...refusalHeaders(retryAfterMs),
        // A server that closes waits for connections that stay open for more requests.
        ...(code === 'RATE_LIMIT_LIMITER_CLOSED' ? [['Connection', 'close'] as const] : []),
      ],
    };
  }
  const [message, reason] =
    status < 500
      ? [(error as Error).message, REASONS[status]]
      : ['Internal server error', undefined];
  const body = { statusCode: status, message, ...(reason !== undefined && { error: reason }) };
  return { exception: new HttpException(body, status, { cause: error }), headers: [] };
}

/** Errors about waiting say how long it would have been. */
type WaitingError = RateLimitError & { readonly retryAfterMs?: number };

/** For the client: messages of errors name what is inside. */
const SENTENCES: Partial<Readonly<Record<RateLimitErrorCode, string>>> = {
  RATE_LIMIT_WAIT_TOO_LONG: 'The wait would be too long.',
  RATE_LIMIT_QUEUE_FULL: 'Too many jobs wait already.',
  RATE_LIMIT_TOO_MANY_WAITERS: 'Too many calls wait already.',
  RATE_LIMIT_LIMITER_CLOSED: 'The service is closing.',
};

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  409: 'Conflict',
  413: 'Payload Too Large',
};

/** What a refusal must not go without, whoever writes its body. */
function refusalHeaders(retryAfterMs: number): Headers {
  return [NEVER_CACHED, ['Retry-After', `${retryAfterSeconds(retryAfterMs)}`]];
}
