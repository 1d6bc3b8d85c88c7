// Charges for a later moment that are settled when it is known what they cost, or given back. Framework-free.
import type { CombinedDecision, Decision } from '../core/decision';
import { US_PER_MS } from '../core/duration';
import { InvalidCostError, UnsupportedOperationError } from '../core/errors';
import { MAX_CREDITS, type ParsedLimit, shown } from '../core/limit';
import type { Adjustment, Awaitable } from '../store/rate-limit-store';
import type { Answer, AnsweringStore, ResilientCharge } from '../store/resilient-port';
import { combined, type PreparedCharge, recounted } from './charge';
import { priceOf } from './policy';

/** When a reservation may be used, and what ends it. */
interface Reserved {
  /** Milliseconds until the moment that was reserved; may be a fraction; 0 = now, or nothing was reserved. */
  readonly delayMs: number;
  /** That moment, in ms since the epoch by the store's clock (by this process' for "now"). */
  readonly startsAt: number;
  /**
   * Gives back what was reserved and is not used, less what was promised to others behind it since: nobody is
   * overtaken. After `settle` or another `cancel`, and of a denial, it does nothing. Where the shared store cannot be
   * reached, what was reserved stays charged.
   */
  cancel(): Promise<void>;
}

/** One reserved charge: a decision that may lie in the future. */
export interface Reservation extends Decision, Reserved {
  /**
   * Says what the call cost in the end. Less than reserved: the rest is returned, never above full. More: the
   * difference is taken without asking, also above the capacity; later calls wait for it. The first word counts: a
   * second `settle`, and one after `cancel`, do nothing. A holder that never says it has paid what it reserved.
   *
   * @param actualCost tokens, 0 or more and finite; counted in thousandths, rounded up
   * @throws InvalidCostError: nothing was settled, say it again
   * @throws StoreUnavailableError: it may have been done all the same; it is not tried again
   */
  settle(actualCost: number): Promise<void>;
}

/** Several charges reserved together: all of them, or none. */
export interface CombinedReservation extends CombinedDecision, Reserved {
  /** As for one, with the cost of each charge, in order. @throws InvalidCostError unless there is one for each */
  settle(actualCosts: readonly number[]): Promise<void>;
}

/** What was reserved, with everything that its end needs. */
export interface Booking {
  readonly charges: readonly PreparedCharge[];
  /** As they were charged; several charges of one bucket are one. */
  readonly merged: readonly ResilientCharge[];
  readonly at: readonly number[];
  readonly answer: Answer;
  /** The time of this process when the answer came, in ms since the epoch. */
  readonly nowMs: number;
}

/** The reservation that a store's answer means. */
export function reservation(store: AnsweringStore, booking: Booking): CombinedReservation {
  const { charges, at, answer, nowMs } = booking;
  const decided = combined(charges, at, answer);
  const { outcomes } = answer;
  const delayUs = decided.allowed ? Math.max(...outcomes.map(({ waitUs }) => waitUs)) : 0;
  const startsAtUs = Math.max(...outcomes.map(({ startsAtUs: us = 0 }) => us));
  let ended: Promise<void> | undefined;
  const end = (change: () => Awaitable<void>) => (ended ??= (async () => change())());
  return {
    ...decided,
    delayMs: delayUs / US_PER_MS,
    startsAt: startsAtUs > 0 ? startsAtUs / US_PER_MS : nowMs + delayUs / US_PER_MS,
    async cancel() {
      if (decided.allowed) await end(() => giveBack(store, booking));
    },
    async settle(actualCosts) {
      if (!decided.allowed) return;
      const adjustments = adjustmentsOf(booking, actualCosts);
      await end(() => (adjustments.length > 0 ? adjusting(store)(adjustments) : undefined));
    },
  };
}

/** The same for one charge. */
export function single(all: CombinedReservation): Reservation {
  const { delayMs, startsAt } = all;
  return {
    ...all.binding,
    delayMs,
    startsAt,
    cancel: () => all.cancel(),
    settle: (actualCost) => all.settle([actualCost]),
  };
}

/** Tokens as credits of a limit; 0 is 0. @throws InvalidCostError unless they can be counted */
export function creditsOf(tokens: unknown, limit: ParsedLimit, what: string): number {
  if (typeof tokens === 'number' && tokens >= 0 && tokens < Infinity) {
    const credits = tokens === 0 ? 0 : priceOf(tokens, limit);
    if (credits <= MAX_CREDITS) return credits;
  }
  throw new InvalidCostError(
    `${what} ${shown(tokens)} is not a number of tokens that can be counted: give 0 or more`,
  );
}

/** The charges that one of the merged ones is made of. */
function partsOf({ charges, at }: Booking, bucket: number): readonly PreparedCharge[] {
  return charges.filter((_, i) => at[i] === bucket);
}

function giveBack(store: AnsweringStore, booking: Booking): Awaitable<void> {
  const { merged, answer } = booking;
  const unused = merged.map((charge, i) => ({
    ...recounted(charge, partsOf(booking, i)),
    // Granted at once: its moment is past, whatever the clock shows.
    startsAtUs: answer.outcomes[i].startsAtUs ?? 0,
  }));
  return store.giveBack(unused, answer.source);
}

/**
 * What the actual costs change, in the numbers of now. One bucket is changed by the sum: returned before the rest is
 * taken, it would spill over the brim.
 *
 * @throws InvalidCostError
 */
function adjustmentsOf(booking: Booking, actualCosts: readonly number[]): Adjustment[] {
  const { charges, merged, at } = booking;
  if (!Array.isArray(actualCosts) || actualCosts.length !== charges.length) {
    throw new InvalidCostError(
      `settle: ${shown(actualCosts)} is not a list of ${charges.length} costs, one for each charge`,
    );
  }
  const sums = merged.map(() => 0);
  charges.forEach(({ scoped: { policy }, cost }, i) => {
    const what = `settle: cost of policy "${policy.name}"`;
    sums[at[i]] += priceOf(cost, policy.limit) - creditsOf(actualCosts[i], policy.limit, what);
  });
  return merged.flatMap(({ bucket, place, configuration }, i) => {
    const [{ scoped }] = partsOf(booking, i);
    const { limit } = scoped.policy;
    return sums[i] === 0 ? [] : [{ bucket, place, configuration, limit, credits: sums[i] }];
  });
}

/** @throws UnsupportedOperationError for a store that cannot */
export function adjusting(store: AnsweringStore): NonNullable<AnsweringStore['adjust']> {
  const { adjust: adjustments } = store;
  if (adjustments !== undefined) return adjustments;
  throw new UnsupportedOperationError(
    'the store of RateLimitModule has no adjust, so it can neither settle, refund nor penalize: add it, or use redis',
  );
}
