// Pure: the seam between the algorithms and everything else: one level, whatever the algorithm, and what can happen to
// it. Chosen by `limit.algorithm`.
import type { ParsedLimit } from '../limit';
import * as fixedWindow from './fixed-window';
import * as leakyBucket from './leaky-bucket';
import * as slidingWindow from './sliding-window';
import * as tokenBucket from './token-bucket';
import * as window from './window';

/** What is kept of a bucket, brought to a moment. */
export interface Level {
  /** Of windows: of the current one, without what still counts of the one before. */
  readonly credits: number;
  /** µs; of windows: the beginning of the current one. */
  readonly atUs: number;
  /** Sliding windows: credits that were used of the window before. */
  readonly previous?: number;
  /** µs from now in which nothing is granted. */
  readonly blockedUs?: number;
}

/** Granted or not, the wait in µs, and the credits of the level afterwards. */
export type Taken = readonly [granted: boolean, waitUs: number, credits: number];

/** What can happen to a level that `refill` brought to `nowUs`. */
export interface Algorithm {
  refill(level: Level, limit: ParsedLimit, nowUs: number): Level;
  take(level: Level, limit: ParsedLimit, price: number, maxWaitUs: number, nowUs: number): Taken;
  timeToFull(level: Level, limit: ParsedLimit, nowUs: number): number;
  /** Credits that are there for a call now; negative is debt. */
  available(level: Level, limit: ParsedLimit, nowUs: number): number;
  /** @param startsAtUs what the grant was for */
  giveBack(level: Level, limit: ParsedLimit, price: number, startsAtUs: number): number;
  adjust(level: Level, limit: ParsedLimit, credits: number): number;
}

const TOKEN_BUCKET: Algorithm = {
  refill({ credits, atUs }, { n, capacity }, nowUs) {
    const [c, t] = tokenBucket.refill(credits, atUs, n, capacity, nowUs);
    return { credits: c, atUs: t };
  },
  take: ({ credits, atUs }, { n }, price, maxWaitUs, nowUs) =>
    tokenBucket.take(credits, atUs, n, price, maxWaitUs, nowUs),
  timeToFull: ({ credits, atUs }, { n, capacity }, nowUs) =>
    tokenBucket.timeToFull(credits, atUs, n, capacity, nowUs),
  available: ({ credits }) => credits,
  giveBack: ({ credits, atUs }, { n, capacity }, price, startsAtUs) =>
    tokenBucket.giveBack(credits, atUs, n, capacity, price, startsAtUs),
  adjust: ({ credits }, { capacity }, by) => tokenBucket.adjust(credits, capacity, by),
};

const LEAKY_BUCKET: Algorithm = {
  ...TOKEN_BUCKET,
  take: ({ credits, atUs }, { n, capacity }, price, maxWaitUs, nowUs) =>
    leakyBucket.take(credits, atUs, n, capacity, price, maxWaitUs, nowUs),
  giveBack: ({ credits, atUs }, { n, capacity }, price, startsAtUs) =>
    leakyBucket.giveBack(credits, atUs, n, capacity, price, startsAtUs),
};

const FIXED_WINDOW: Algorithm = {
  refill({ credits, atUs }, { n: length, capacity }, nowUs) {
    const [c, t] = window.roll(credits, atUs, 0, length, capacity, nowUs);
    return { credits: c, atUs: t };
  },
  take: ({ credits, atUs }, { n: length }, price, _maxWaitUs, nowUs) =>
    fixedWindow.take(credits, atUs, length, price, nowUs),
  timeToFull: ({ credits, atUs }, { n: length, capacity }, nowUs) =>
    fixedWindow.timeToFull(credits, atUs, length, capacity, nowUs),
  available: ({ credits }) => credits,
  giveBack: ({ credits }, { capacity }, price) => window.adjust(credits, capacity, price),
  adjust: ({ credits }, { capacity }, by) => window.adjust(credits, capacity, by),
};

const SLIDING_WINDOW: Algorithm = {
  ...FIXED_WINDOW,
  refill({ credits, atUs, previous = 0 }, { n: length, capacity }, nowUs) {
    const [c, t, p] = window.roll(credits, atUs, previous, length, capacity, nowUs);
    return { credits: c, atUs: t, previous: p };
  },
  take: ({ credits, atUs, previous = 0 }, { n: length, capacity }, price, _maxWaitUs, nowUs) =>
    slidingWindow.take(credits, atUs, previous, length, capacity, price, nowUs),
  timeToFull: ({ credits, atUs, previous = 0 }, { n: length, capacity }, nowUs) =>
    slidingWindow.timeToFull([credits, atUs, previous], length, capacity, nowUs),
  available: ({ credits, atUs, previous = 0 }, { n: length, capacity }, nowUs) =>
    credits - slidingWindow.weighted(atUs, previous, length, capacity, nowUs),
};

const ALGORITHMS: Readonly<Record<ParsedLimit['algorithm'], Algorithm>> = {
  'token-bucket': TOKEN_BUCKET,
  'sliding-window': SLIDING_WINDOW,
  'fixed-window': FIXED_WINDOW,
  'leaky-bucket': LEAKY_BUCKET,
};

/** The algorithm of a limit. */
export function algorithmOf({ algorithm }: ParsedLimit): Algorithm {
  return ALGORITHMS[algorithm];
}

/** Windows: nothing is promised for a later moment, so nobody can reserve or be held until then. */
export function isWindow({ algorithm }: Pick<ParsedLimit, 'algorithm'>): boolean {
  return algorithm === 'fixed-window' || algorithm === 'sliding-window';
}
