// Pure: one bucket's answer, from its level. Shared by every store, so that all say the same.
import {
  adjust,
  giveBack,
  refill,
  rescale,
  take,
  timeToFull,
} from '../core/algorithms/token-bucket';
import type { Adjustment, BucketCharge, Outcome, Peeked, UnusedGrant } from './rate-limit-store';

/** What a store keeps of a bucket. */
export interface BucketState {
  /** Credits, counted in `unit`. */
  credits: number;
  /** The time they were counted at, in µs. */
  atUs: number;
  /** The limit's `q` when they were counted. */
  unit: number;
}

/** A bucket after refill: its credits in the unit of the limit, and their time. */
export interface Level {
  readonly credits: number;
  readonly atUs: number;
  /** µs from now in which nothing is granted. */
  readonly blockedUs?: number;
}

/** The level at `nowUs`; nothing kept means full. */
export function levelOf(
  state: BucketState | undefined,
  { limit: { n, q, capacity } }: Pick<BucketCharge, 'limit'>,
  nowUs: number,
): Level {
  if (state === undefined) return { credits: capacity, atUs: nowUs };
  const credits =
    state.unit === q ? state.credits : rescale(state.credits, state.unit, q, capacity);
  const [c, t] = refill(credits, state.atUs, n, capacity, nowUs);
  return { credits: c, atUs: t };
}

function outcome(
  { limit: { n, capacity }, price, maxWaitUs }: BucketCharge,
  { credits, atUs, blockedUs = 0 }: Level,
  nowUs: number,
): Outcome {
  const fullInUs = timeToFull(credits, atUs, n, capacity, nowUs);
  // The charge fits its own limit, but not the one that is configured.
  if (price > capacity) return { granted: false, waitUs: Infinity, credits, fullInUs };
  const [granted, waitUs, left] = take(credits, atUs, n, price, maxWaitUs, nowUs);
  if (blockedUs > 0) {
    const longerUs = Math.max(waitUs, blockedUs);
    return { granted: false, waitUs: longerUs, credits, fullInUs, blocked: true };
  }
  return { granted, waitUs, credits: left, fullInUs: timeToFull(left, atUs, n, capacity, nowUs) };
}

/**
 * The outcomes of a call, all or nothing: if one refuses, the others show their levels uncharged.
 * @param clockUs what the store's clock shows at `nowUs`
 */
export function takeAll(
  charges: readonly BucketCharge[],
  levels: readonly Level[],
  nowUs: number,
  clockUs = nowUs,
): Outcome[] {
  const all = charges.map((charge, i) => outcome(charge, levels[i], nowUs));
  if (all.every(({ granted }) => granted)) {
    return all.map((each, i) =>
      charges[i].maxWaitUs > 0 ? { ...each, startsAtUs: clockUs + each.waitUs } : each,
    );
  }
  return all.map((each, i) => {
    if (!each.granted) return each;
    const { credits, atUs } = levels[i];
    const { n, capacity } = charges[i].limit;
    return { ...each, credits, fullInUs: timeToFull(credits, atUs, n, capacity, nowUs) };
  });
}

/** What `take` would say to one charge. A full bucket is as good as forgotten. */
export function peekOne(charge: BucketCharge, level: Level, nowUs: number): Peeked {
  return {
    ...outcome(charge, level, nowUs),
    held: level.credits,
    known: level.credits < charge.limit.capacity,
  };
}

/** The level after a grant was given back. */
export function levelAfter(grant: UnusedGrant, { credits, atUs }: Level): Level {
  const { n, capacity } = grant.limit;
  return { credits: giveBack(credits, atUs, n, capacity, grant.price, grant.startsAtUs), atUs };
}

/** The level after credits were added or taken. */
export function levelAdjusted(
  { limit, credits: change }: Adjustment,
  { credits, atUs }: Level,
): Level {
  return { credits: adjust(credits, limit.capacity, change), atUs };
}
