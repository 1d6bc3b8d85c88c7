// Pure: whether admissions keep within what a limit promises for every window of time.
import { usFromMs } from '../core/duration';
import { UnsupportedOperationError } from '../core/errors';
import { costThousandths, parseLimit, type Limit, THOUSANDTHS_PER_TOKEN } from '../core/limit';

/** Something that was let through. */
export interface Admission {
  /** When, in ms. */
  readonly atMs: number;
  /** Tokens. @default 1 */
  readonly cost?: number;
}

/** A window in which more was let through than the limit promises. */
export interface EnvelopeViolation {
  /** The first and the last admission of the window, in ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Tokens that were admitted in it. */
  readonly admitted: number;
  /** Tokens that it may hold: capacity + rate × (toMs − fromMs). */
  readonly most: number;
}

/**
 * The first window whose admissions are more than `capacity + rate × T`; `undefined` when there is none. Exact, to the
 * microsecond and the thousandth of a token. For the decisions of one bucket, or for the starts that a server recorded.
 *
 * @param admissions in the order of time
 * @throws UnsupportedOperationError for an algorithm with another envelope
 */
export function envelopeViolation(
  limit: Limit,
  admissions: Iterable<Admission>,
): EnvelopeViolation | undefined {
  const { algorithm, n, q, capacity } = parseLimit(limit, 'envelopeViolation: limit');
  if (algorithm !== 'token-bucket') {
    throw new UnsupportedOperationError(
      `the envelope of algorithm "${algorithm}" is not known here`,
    );
  }
  const tokens = (credits: bigint) => Number(credits) / (q * THOUSANDTHS_PER_TOKEN);
  let sum = 0n;
  // Of all windows that end now, the fullest starts where what was admitted before it, less the refill, is least.
  let start: { readonly slack: bigint; readonly before: bigint; readonly atMs: number } | undefined;
  for (const { atMs, cost = 1 } of admissions) {
    const refilled = BigInt(usFromMs(atMs)) * BigInt(n);
    if (start === undefined || sum - refilled < start.slack) {
      start = { slack: sum - refilled, before: sum, atMs };
    }
    sum += BigInt(costThousandths(cost)) * BigInt(q);
    const excess = sum - refilled - start.slack - BigInt(capacity);
    if (excess > 0n) {
      const admitted = sum - start.before;
      return {
        fromMs: start.atMs,
        toMs: atMs,
        admitted: tokens(admitted),
        most: tokens(admitted - excess),
      };
    }
  }
  return undefined;
}

/** More was admitted in a window than the limit promises: a bucket or its store is wrong. */
export class EnvelopeError extends Error {
  constructor(
    key: string,
    readonly violation: EnvelopeViolation,
  ) {
    const { admitted, most, fromMs, toMs } = violation;
    super(
      `key "${key}": ${admitted} tokens were admitted from ${fromMs} ms to ${toMs} ms, where the limit promises at most ${most}`,
    );
    this.name = 'EnvelopeError';
  }
}
