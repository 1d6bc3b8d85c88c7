// The third voice: a token bucket written from its definition, in exact fractions of tokens.
// It shares no code and no representation with the library: no credits, no doubles, no clamps for their sake.
//
// A bucket holds `tokens` (below zero: promised away) at the instant `at`. It gains `rate` tokens a
// microsecond, up to its capacity. That is all there is; everything below asks that line a question.
import {
  ceil,
  compare,
  floor,
  least,
  minus,
  most,
  over,
  plus,
  ratio,
  times,
  ZERO,
  type Ratio,
} from './ratio';

/** The numbers of a limit, in tokens and microseconds. */
export interface OracleLimit {
  readonly rate: Ratio;
  readonly capacity: Ratio;
  /** The finest part of a token that the library counts under this limit. Only a change of it converts. */
  readonly unit: Ratio;
}

/** A bucket: how many tokens at which instant. */
export interface Held {
  readonly tokens: Ratio;
  readonly at: bigint;
  /** The unit of the limit that it was last written under. */
  readonly unit: Ratio;
}

/** What a bucket says to a charge. */
export interface Said {
  readonly granted: boolean;
  /** The least whole number of µs after which the cost is there. */
  readonly wait: bigint;
  readonly after: Held;
}

/** Documented bound: a bucket owes at most this many of its units. */
const MOST_OWED = 2n ** 51n;

const THOUSAND = ratio(1000n);

/** `n / q` tokens a millisecond and a capacity in parts of 1 / (1000 q) token, as the limit was parsed. */
export function oracleLimit(n: number, q: number, capacity: number): OracleLimit {
  const unit = ratio(1n, BigInt(q) * 1000n);
  return { rate: times(ratio(n), unit), capacity: times(ratio(capacity), unit), unit };
}

export function full(limit: OracleLimit, now: bigint): Held {
  return { tokens: limit.capacity, at: now, unit: limit.unit };
}

/** The bucket at `now`. */
export function levelAt(held: Held, limit: OracleLimit, now: bigint): Held {
  const { unit } = limit;
  const tokens = compare(held.unit, unit) === 0 ? held.tokens : carriedOver(held.tokens, limit);
  if (compare(tokens, limit.capacity) >= 0) return { tokens: limit.capacity, at: now, unit };
  if (now >= held.at) {
    const gained = times(limit.rate, ratio(now - held.at));
    return { tokens: least(limit.capacity, plus(tokens, gained)), at: now, unit };
  }
  // The clock went back. Nothing is gained until it is where it was; but when that takes longer than
  // the bucket needs to fill, the bucket takes the new time for its own.
  const fillsIn = over(minus(limit.capacity, tokens), limit.rate);
  const isFarBack = compare(ratio(held.at - now), fillsIn) > 0;
  return { tokens, at: isFarBack ? now : held.at, unit };
}

/** Another limit keeps whole thousandths of a token. */
function carriedOver(tokens: Ratio, limit: OracleLimit): Ratio {
  const kept = over(ratio(floor(times(tokens, THOUSAND))), THOUSAND);
  return most(times(ratio(-MOST_OWED), limit.unit), least(kept, limit.capacity));
}

/** When the line through the level reaches `tokens`: the least whole µs from `now`, not before. */
function reaches(level: Held, limit: OracleLimit, tokens: Ratio, now: bigint): bigint {
  if (compare(level.tokens, tokens) >= 0) return 0n;
  return level.at - now + ceil(over(minus(tokens, level.tokens), limit.rate));
}

/** Takes `cost` if it is there within `maxWait` µs. `level` is {@link levelAt} `now`. */
export function take(
  level: Held,
  limit: OracleLimit,
  cost: Ratio,
  maxWait: bigint,
  now: bigint,
): Said {
  const wait = reaches(level, limit, cost, now);
  const tokens = minus(level.tokens, cost);
  const owed = compare(tokens, ZERO) < 0 ? times(tokens, ratio(-1n)) : ZERO;
  const granted =
    wait === 0n || (wait <= maxWait && compare(owed, times(ratio(MOST_OWED), limit.unit)) <= 0);
  return { granted, wait, after: granted ? { ...level, tokens } : level };
}

/** µs until the bucket is full. */
export function fullIn(level: Held, limit: OracleLimit, now: bigint): bigint {
  return reaches(level, limit, limit.capacity, now);
}

/**
 * Gives back a grant of `cost` for the instant `startsAt`. As Go's limiter has it: less what the
 * bucket gains between that start and the start of the latest grant, since that was promised to those who came after.
 */
export function giveBack(level: Held, limit: OracleLimit, cost: Ratio, startsAt: bigint): Held {
  const owed = most(ZERO, times(level.tokens, ratio(-1n)));
  const latestStart = plus(ratio(level.at), over(owed, limit.rate));
  const ownStart = most(ratio(startsAt), ratio(level.at));
  const between = most(ZERO, minus(latestStart, ownStart));
  const back = most(ZERO, minus(cost, times(limit.rate, between)));
  return { ...level, tokens: least(limit.capacity, plus(level.tokens, back)) };
}
