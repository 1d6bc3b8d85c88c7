// Pure: one bucket's answer, from its level. Shared by every store, so that all say the same.
import { algorithmOf, isWindow, type Level } from '../core/algorithms/algorithm';
import { rescale } from '../core/algorithms/token-bucket';
import { reframe, windowStart } from '../core/algorithms/window';
import type { ParsedLimit } from '../core/limit';
import type { BucketCharge, Outcome, Peeked } from './rate-limit-store';

/** The most buckets that a process keeps: Node's Map takes 2^24 entries. */
export const MOST_BUCKETS = 16_000_000;

/** What a store keeps of a bucket: its level, and the limit it was counted under. */
export interface BucketState {
  readonly level: Level;
  readonly limit: ParsedLimit;
}

/** The level at `nowUs`; nothing kept means full, and so does a bucket of another algorithm. */
export function levelOf(state: BucketState | undefined, limit: ParsedLimit, nowUs: number): Level {
  if (state?.limit.algorithm !== limit.algorithm) return fullLevel(limit, nowUs);
  return algorithmOf(limit).refill(carriedOver(state, limit, nowUs), limit, nowUs);
}

function fullLevel(limit: ParsedLimit, nowUs: number): Level {
  const { capacity, n } = limit;
  return { credits: capacity, atUs: isWindow(limit) ? windowStart(nowUs, n) : nowUs };
}

/** What was counted under another limit, in the numbers of this one. */
function carriedOver({ level, limit: old }: BucketState, limit: ParsedLimit, nowUs: number): Level {
  const { credits, atUs, previous = 0 } = level;
  if (!isWindow(limit)) {
    if (old.q === limit.q) return level;
    return { credits: rescale(credits, old.q, limit.q, limit.capacity), atUs };
  }
  if (old.n === limit.n && old.capacity === limit.capacity) return level;
  const used = old.capacity - credits;
  const { n, capacity } = limit;
  const [c, t, p] = reframe(used, atUs, previous, old.n, n, capacity, nowUs);
  return { credits: c, atUs: t, previous: p };
}

/** What one bucket says, and the credits of its level if it is charged. */
function asked(
  charge: BucketCharge,
  level: Level,
  nowUs: number,
): readonly [outcome: Outcome, left: number] {
  const { limit, price, maxWaitUs } = charge;
  const algorithm = algorithmOf(limit);
  const untaken = (waitUs: number): Outcome => ({
    granted: false,
    waitUs,
    credits: algorithm.available(level, limit, nowUs),
    fullInUs: algorithm.timeToFull(level, limit, nowUs),
  });
  // The charge fits its own limit, but not the one that is configured.
  if (price > limit.capacity) return [untaken(Infinity), level.credits];
  const [granted, waitUs, left] = algorithm.take(level, limit, price, maxWaitUs, nowUs);
  const { blockedUs = 0 } = level;
  if (blockedUs > 0) {
    return [{ ...untaken(Math.max(waitUs, blockedUs)), blocked: true }, level.credits];
  }
  if (!granted) return [untaken(waitUs), level.credits];
  const after = { ...level, credits: left };
  const credits = algorithm.available(after, limit, nowUs);
  const fullInUs = algorithm.timeToFull(after, limit, nowUs);
  return [{ granted, waitUs, credits, fullInUs }, left];
}

/** What a call was answered, and what is left. */
export interface Taken {
  readonly outcomes: Outcome[];
  /** Every bucket granted, so all were charged. */
  readonly granted: boolean;
  readonly levels: readonly Level[];
}

/**
 * Charges all, or nothing: if one refuses, the others show their levels uncharged.
 * @param clockUs what the store's clock shows at `nowUs`
 */
export function takeAll(
  charges: readonly BucketCharge[],
  levels: readonly Level[],
  nowUs: number,
  clockUs = nowUs,
): Taken {
  const all = charges.map((charge, i) => asked(charge, levels[i], nowUs));
  if (all.every(([{ granted }]) => granted)) {
    return {
      granted: true,
      outcomes: all.map(([each], i) =>
        hasMoment(charges[i]) ? { ...each, startsAtUs: clockUs + each.waitUs } : each,
      ),
      levels: levels.map((level, i) => ({ ...level, credits: all[i][1] })),
    };
  }
  const outcomes = all.map(([each], i) => {
    return each.granted ? uncharged(each, charges[i], levels[i], nowUs) : each;
  });
  return { granted: false, outcomes, levels };
}

/** What `take` would say to one charge when another one of its call refuses. */
export function lookOne(charge: BucketCharge, level: Level, nowUs: number): Outcome {
  const [said] = asked(charge, level, nowUs);
  return said.granted ? uncharged(said, charge, level, nowUs) : said;
}

function uncharged(said: Outcome, { limit }: BucketCharge, level: Level, nowUs: number): Outcome {
  const algorithm = algorithmOf(limit);
  return {
    ...said,
    credits: algorithm.available(level, limit, nowUs),
    fullInUs: algorithm.timeToFull(level, limit, nowUs),
  };
}

/** The moment of a grant matters for giving it back: it may lie ahead, or be a place in a lane. */
function hasMoment({ maxWaitUs, limit }: BucketCharge): boolean {
  return maxWaitUs > 0 || limit.algorithm === 'leaky-bucket';
}

/** What `take` would say to one charge. A full bucket is as good as forgotten. */
export function peekOne(charge: BucketCharge, level: Level, nowUs: number): Peeked {
  const [said] = asked(charge, level, nowUs);
  const { limit } = charge;
  const algorithm = algorithmOf(limit);
  return {
    ...said,
    held: algorithm.available(level, limit, nowUs),
    known: algorithm.timeToFull(level, limit, nowUs) > 0,
  };
}
