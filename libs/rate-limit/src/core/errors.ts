// The error family. A denial is a value, not an error; these are for everything else.
import type { Decision } from './decision';

/** Codes of {@link RateLimitError}; stable, safe to match on. */
export type RateLimitErrorCode =
  | 'RATE_LIMIT_INVALID_LIMIT'
  | 'RATE_LIMIT_UNKNOWN_POLICY'
  | 'RATE_LIMIT_INVALID_COST'
  | 'RATE_LIMIT_COST_EXCEEDS_CAPACITY'
  | 'RATE_LIMIT_MISSING_KEY'
  | 'RATE_LIMIT_EXCEEDED'
  | 'RATE_LIMIT_CONCURRENCY_EXCEEDED'
  | 'RATE_LIMIT_LEASE_LOST'
  | 'RATE_LIMIT_STORE_UNAVAILABLE'
  | 'RATE_LIMIT_STORE_TIMEOUT'
  | 'RATE_LIMIT_STORE_CONFIGURATION'
  | 'RATE_LIMIT_UNSUPPORTED_OPERATION'
  | 'RATE_LIMIT_WAIT_TOO_LONG'
  | 'RATE_LIMIT_TOO_MANY_WAITERS'
  | 'RATE_LIMIT_QUEUE_FULL'
  | 'RATE_LIMIT_IDEMPOTENCY_CONFLICT'
  | 'RATE_LIMIT_JOB_EXPIRED'
  | 'RATE_LIMIT_JOB_CANCELLED'
  | 'RATE_LIMIT_JOB_FAILED'
  | 'RATE_LIMIT_RESULT_TIMEOUT'
  | 'RATE_LIMIT_LIMITER_CLOSED';

/**
 * Base of every error of this library.
 *
 * `is` works across copies of the package: it matches by name and code, not by identity.
 */
export abstract class RateLimitError extends Error {
  abstract readonly code: RateLimitErrorCode;
  /** The HTTP status that the guard answers with when this error escapes a request. */
  readonly httpStatus: number = 500;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /**
   * True for an error of the class it is called on or of a subclass; on the base, of any class of the
   * family.
   */
  static is<T extends RateLimitError>(
    this: abstract new (...args: never[]) => T,
    error: unknown,
  ): error is T {
    if (error instanceof this) return true;
    if (!(error instanceof Error) || !isFamilyCode((error as { code?: unknown }).code))
      return false;
    for (let of: unknown = error; of !== null; of = Object.getPrototypeOf(of)) {
      if ((of as object).constructor.name === this.name) return true;
    }
    return false;
  }
}

function isFamilyCode(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith('RATE_LIMIT_');
}

/** Numbers or options that make no sense. Thrown at start-up, or at once by a service call. */
export class InvalidLimitError extends RateLimitError {
  readonly code = 'RATE_LIMIT_INVALID_LIMIT';
}

/** A policy or tier name that was never registered. The message lists the known names. */
export class UnknownPolicyError extends RateLimitError {
  readonly code = 'RATE_LIMIT_UNKNOWN_POLICY';
}

/** A cost that is not a positive finite number. The bucket is untouched. */
export class InvalidCostError extends RateLimitError {
  readonly code = 'RATE_LIMIT_INVALID_COST';
}

/** A cost above the capacity: it could never pass, so waiting is pointless. The bucket is untouched. */
export class CostExceedsCapacityError extends RateLimitError {
  readonly code = 'RATE_LIMIT_COST_EXCEEDS_CAPACITY';
  override readonly httpStatus = 413;
}

/** The key resolver found no identity. Never answered by a shared bucket. */
export class MissingKeyError extends RateLimitError {
  readonly code = 'RATE_LIMIT_MISSING_KEY';

  constructor(
    message: string,
    /** 401 where a user was expected, else 400. */
    override readonly httpStatus: 400 | 401 = 400,
  ) {
    super(message);
  }
}

/** A denial as an error. Only `assertAllowed` and `withConcurrency` throw it, the latter a subclass. */
export class RateLimitExceededError extends RateLimitError {
  readonly code: 'RATE_LIMIT_EXCEEDED' | 'RATE_LIMIT_CONCURRENCY_EXCEEDED' = 'RATE_LIMIT_EXCEEDED';
  override readonly httpStatus = 429;

  constructor(
    message: string,
    /** What was decided; at least one denial. */
    readonly decisions: readonly Decision[],
  ) {
    super(message);
  }
}

/** As many calls are in flight as may be. Thrown by `withConcurrency` at once; nothing was run. */
export class ConcurrencyExceededError extends RateLimitExceededError {
  override readonly code = 'RATE_LIMIT_CONCURRENCY_EXCEEDED';
}

/**
 * A slot of a concurrency limit was lost while its holder still worked: the store could not be told in time that it
 * is in use. Somebody else may have it now. The reason of the signal that `withConcurrency` hands to its function.
 */
export class LeaseLostError extends RateLimitError {
  readonly code = 'RATE_LIMIT_LEASE_LOST';
  override readonly httpStatus = 503;
}

/** The shared store could not answer, and the policy is `closed` or the operation needs it. */
export class StoreUnavailableError extends RateLimitError {
  readonly code: 'RATE_LIMIT_STORE_UNAVAILABLE' | 'RATE_LIMIT_STORE_TIMEOUT' =
    'RATE_LIMIT_STORE_UNAVAILABLE';
  override readonly httpStatus = 503;
}

/** The shared store did not answer within `storeTimeoutMs`. Whether the charge was made is unknown. */
export class StoreTimeoutError extends StoreUnavailableError {
  override readonly code = 'RATE_LIMIT_STORE_TIMEOUT';
}

/** The store refuses us for good (NOAUTH, NOPERM, WRONGTYPE …). Never treated as an outage. */
export class StoreConfigurationError extends RateLimitError {
  readonly code = 'RATE_LIMIT_STORE_CONFIGURATION';
}

/** This algorithm, or this version, cannot do that. */
export class UnsupportedOperationError extends RateLimitError {
  readonly code = 'RATE_LIMIT_UNSUPPORTED_OPERATION';
}

/** The wait would be longer than allowed; known at once, and nothing was taken. */
export class WaitTooLongError extends RateLimitError {
  readonly code = 'RATE_LIMIT_WAIT_TOO_LONG';
  override readonly httpStatus = 429;

  constructor(
    message: string,
    /** The wait that would have been needed, in ms. */
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/** So many calls of this process wait already that one more is refused. Nothing was taken. */
export class TooManyWaitersError extends RateLimitError {
  readonly code = 'RATE_LIMIT_TOO_MANY_WAITERS';
  override readonly httpStatus = 503;
}

/** The limiter was closed. */
export class LimiterClosedError extends RateLimitError {
  readonly code = 'RATE_LIMIT_LIMITER_CLOSED';
  override readonly httpStatus = 503;
}
