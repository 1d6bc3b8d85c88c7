// Pure: whether admissions keep within what a limit promises for every window of time.
import { isWindow } from '../core/algorithms/algorithm';
import { usFromMs } from '../core/duration';
import {
  costThousandths,
  parseLimit,
  type Limit,
  type ParsedLimit,
  THOUSANDTHS_PER_TOKEN,
} from '../core/limit';

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
  /** Tokens that it may hold; see {@link envelopeViolation}. */
  readonly most: number;
}

/**
 * The first window of time whose admissions are more than the limit promises; `undefined` when there is none. Promised
 * are for any T: of a token bucket `capacity + rate × T`; of a leaky bucket the last one's cost and `rate × T`. Of the
 * window algorithms: the rate, in each of their windows since the epoch. Exact, to the
 * microsecond and the thousandth of a token. For the decisions of one bucket, or for the starts that a server recorded.
 *
 * @param admissions in the order of time
 */
export function envelopeViolation(
  limit: Limit,
  admissions: Iterable<Admission>,
): EnvelopeViolation | undefined {
  const parsed = parseLimit(limit, 'envelopeViolation: limit');
  if (isWindow(parsed)) return windowViolation(parsed, admissions);
  const { algorithm, n, q, capacity } = parsed;
  const tokens = (credits: bigint) => Number(credits) / (q * THOUSANDTHS_PER_TOKEN);
  let sum = 0n;
  // Of all windows that end now, the fullest starts where what was admitted before it, less the refill, is least.
  let start: { readonly slack: bigint; readonly before: bigint; readonly atMs: number } | undefined;
  for (const { atMs, cost = 1 } of admissions) {
    const refilled = BigInt(usFromMs(atMs)) * BigInt(n);
    if (start === undefined || sum - refilled < start.slack) {
      start = { slack: sum - refilled, before: sum, atMs };
    }
    const credits = BigInt(costThousandths(cost)) * BigInt(q);
    sum += credits;
    const burst = algorithm === 'leaky-bucket' ? credits : BigInt(capacity);
    const excess = sum - refilled - start.slack - burst;
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

function windowViolation(
  { n: length, capacity }: ParsedLimit,
  admissions: Iterable<Admission>,
): EnvelopeViolation | undefined {
  let window = -1;
  let fromMs = 0;
  let sum = 0;
  for (const { atMs, cost = 1 } of admissions) {
    const own = Math.floor(usFromMs(atMs) / length);
    if (own !== window) [window, fromMs, sum] = [own, atMs, 0];
    sum += costThousandths(cost);
    if (sum > capacity) {
      const [admitted, most] = [sum, capacity].map((credits) => credits / THOUSANDTHS_PER_TOKEN);
      return { fromMs, toMs: atMs, admitted, most };
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
