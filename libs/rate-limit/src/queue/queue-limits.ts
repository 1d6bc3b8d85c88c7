// Pure: the limits of a queue's lanes, and how many jobs run at once.
import { UnsupportedOperationError } from '../core/errors';
import { parseLimit, shown, type Limit, type ParsedLimit } from '../core/limit';
import type { RateLimitQueueOptions } from './queue-options';
import type { QueueLimits } from './lane';
import { wholeNumber } from './whole-number';

const DEFAULT_CONCURRENCY = 10;
/** What one key may use of all that run at once, so that its slow jobs cannot fill everything. */
const LANE_SHARE_OF_CONCURRENCY = 0.8;

/**
 * @param shared the limit of the policy that the queue shares, where it does
 * @returns `undefined` for a queue that only `deferTo` submits to
 * @throws InvalidLimitError naming queue, option and value
 */
export function queueLimits(
  options: RateLimitQueueOptions<never>,
  shared: ParsedLimit | undefined,
  place: string,
): QueueLimits | undefined {
  if (shared !== undefined) {
    checkAlgorithm(shared, place);
    return { limit: shared, share: shareOf(shared, options.share ?? 0.5, place) };
  }
  if (options.rate === undefined) return undefined;
  const { rate, per, capacity, algorithm } = options;
  const limit = parseLimit({ rate, per, capacity, algorithm } as Limit, place);
  checkAlgorithm(limit, place);
  return { limit, share: undefined };
}

function checkAlgorithm({ algorithm }: ParsedLimit, place: string): void {
  if (algorithm === 'token-bucket') return;
  throw new UnsupportedOperationError(
    `${place}: algorithm ${shown(algorithm)} cannot pace a queue: use "token-bucket"${algorithm === 'leaky-bucket' ? ' with capacity 1, which spaces starts evenly' : ''}`,
  );
}

/** The part of a limit that queued work may use; a burst of one job is always left. */
export function shareOf(limit: ParsedLimit, share: number, place: string): ParsedLimit {
  return parseLimit(
    {
      rate: limit.rate * share,
      per: limit.perMs,
      capacity: Math.max(1, limit.capacityTokens * share),
    },
    `${place}: share ${share}`,
  );
}

/** Jobs that one worker runs at once. @throws InvalidLimitError */
export function concurrencyOf({ worker }: RateLimitQueueOptions<never>, place: string): number {
  return wholeNumber(worker?.concurrency ?? DEFAULT_CONCURRENCY, place, 'worker.concurrency', 1);
}

/** Jobs of one lane that may be in flight at once, of so many in all. */
export function mostInFlight({ key, rate, policy }: RateLimitQueueOptions<never>) {
  const hasManyLanes = key !== undefined || (rate === undefined && policy === undefined);
  return (concurrency: number) =>
    hasManyLanes
      ? Math.max(1, Math.floor(concurrency * LANE_SHARE_OF_CONCURRENCY))
      : Number.MAX_SAFE_INTEGER;
}
