// Pure: a Limit as users write it, parsed once into the exact integers that the algorithms count in.
import { InvalidLimitError } from './errors';
import { MS_PER_SECOND, PERIOD_NAMES, periodMs, type Period, US_PER_MS } from './duration';
import { fraction, fractionFromBelow, simplestFraction, type Fraction } from './fraction';

/** The ways to count; `docs/model.md` has them side by side. */
export type AlgorithmName = 'token-bucket' | 'sliding-window' | 'fixed-window' | 'leaky-bucket';

/** The numbers of a limit. */
export interface Limit {
  /** Tokens per `per`; positive and finite, fractions allowed (0.5, 1/3). */
  rate: number;
  /**
   * The period of `rate`: a name, or whole milliseconds (at least 1).
   * @default 'second'
   */
  per?: Period;
  /**
   * The largest burst, in tokens; at least 1, rounded down to a thousandth.
   * Of `leaky-bucket`: how many may wait. Of the window algorithms it is the rate: leave it out.
   * @default 2 × rate when `per` is a second or less, else rate; never below 1
   */
  capacity?: number;
  /** @default 'token-bucket' */
  algorithm?: AlgorithmName;
  /**
   * The policy name under which the bucket is kept; `[a-z][a-z0-9_-]*`, at most 64 characters.
   * @default 'default'
   */
  name?: string;
  /**
   * For `acquire`, and nowhere else: the ms in which a downstream that was left alone is brought to the full rate, from a
   * third of it (`core/warm-up.ts`). Each process warms up by itself; the limit itself holds over all of them. More than
   * 0, at most a day.
   * @default no warm-up
   */
  warmUpMs?: number;
}

/**
 * A limit in core units: `n / q` tokens per millisecond in lowest terms. One token is `1000·q`
 * credits, one microsecond refills `n` credits, a thousandth of a token is `q` credits. All
 * integers, all below 2^53 (`docs/model.md` has the proof).
 */
export interface ParsedLimit {
  readonly algorithm: AlgorithmName;
  /** Credits that one microsecond adds; of the window algorithms the length of a window in µs. */
  readonly n: number;
  /** Credits of a thousandth of a token; 1 of the window algorithms. */
  readonly q: number;
  /** Capacity in credits. */
  readonly capacity: number;
  /** Capacity in whole tokens, rounded down: what `Decision.limit` says. */
  readonly limit: number;
  /**
   * Tells parsed limits apart: 24 bits of a hash of their numbers; a clash only costs a shorter TTL refresh. Above them
   * the number of the algorithm, which is all that the scripts know of it.
   */
  readonly fingerprint: number;
  /** What the user asked for, after defaults and rounding: tokens per `perMs`. */
  readonly rate: number;
  readonly perMs: number;
  /** Capacity in tokens; may be fractional. */
  readonly capacityTokens: number;
}

/** No stored number may exceed this; twice it is still exact in a double. */
export const MAX_CREDITS = 2 ** 51;
export const THOUSANDTHS_PER_TOKEN = 1000;

const MIN_RATE = 1e-9;
const MAX_RATE = 1e12;
/** Float noise that is not meant: 0.57 × 1000 is 569.9999999999999. */
const NOISE = 1e-9;
/** The same for numbers so large that 1e-9 is below what a double of them can tell. */
const RELATIVE_NOISE = 2 ** -51;
/** How far a rate may be rounded down when its exact fraction does not fit. */
const MAX_ROUNDING = 10_000_000n;
const NAME = /^[a-z][a-z0-9_-]{0,63}$/;
/** Their places are the numbers by which the scripts know them. */
const ALGORITHMS: readonly AlgorithmName[] = [
  'token-bucket',
  'sliding-window',
  'fixed-window',
  'leaky-bucket',
];
const FINGERPRINTS = 2 ** 24;
/** A window limit is counted in at least so many steps of its window. */
const LEAST_STEPS = 1000;

/** Shows a value in a message: strings quoted, the rest as is, never long. */
export function shown(value: unknown): string {
  if (typeof value === 'string')
    return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value === 'bigint') return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value === 'function') return 'a function';
  return String(value);
}

/** @throws InvalidLimitError unless `name` can be a policy name. */
export function checkName(name: unknown, place: string): asserts name is string {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new InvalidLimitError(
      `${place}: name ${shown(name)} is not a policy name: use lower-case letters, digits, "_" and "-", starting with a letter, at most 64`,
    );
  }
}

function positive(
  value: unknown,
  place: string,
  option: string,
  least: number,
  most: number,
): number {
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    throw new InvalidLimitError(
      `${place}: ${option} ${shown(value)} is not a number from ${least} to ${most}`,
    );
  }
  return value;
}

/** Thousandths of a token; float noise goes, and what is then not whole is rounded. */
function thousandths(tokens: number, rounded: (value: number) => number): number {
  const value = tokens * THOUSANDTHS_PER_TOKEN;
  const whole = Math.round(value);
  const noise = Math.max(NOISE, whole * RELATIVE_NOISE);
  return Math.abs(value - whole) <= noise ? whole : rounded(value);
}

/** Thousandths of a token in a capacity, rounded down. */
function capacityThousandths(tokens: number): number {
  return thousandths(tokens, Math.floor);
}

/** Thousandths of a token in a cost, rounded up: never 0. The cost must be positive and finite. */
export function costThousandths(cost: number): number {
  return Math.max(1, thousandths(cost, Math.ceil));
}

function perMillisecond(rate: number, perMs: number): Fraction {
  const { numerator, denominator } = simplestFraction(rate);
  return fraction(numerator, denominator * BigInt(perMs));
}

/** Tokens in a capacity that the user left out: exact, because 2 × 10/13 has no exact double. */
function defaultCapacity(rate: number, perMs: number): { numerator: bigint; denominator: bigint } {
  const { numerator, denominator } = simplestFraction(rate);
  const doubled =
    perMs <= 1000 ? fraction(numerator * 2n, denominator) : { numerator, denominator };
  return doubled.numerator < doubled.denominator ? { numerator: 1n, denominator: 1n } : doubled;
}

/**
 * The fraction to count with. When the exact one needs numbers that do not fit, the nearest from
 * below that does: rounding a rate down can never admit too much.
 */
function fitting(exact: Fraction, tokens: Fraction, place: string, limit: Limit): Fraction {
  const most = BigInt(MAX_CREDITS);
  const fits = (f: Fraction) =>
    f.numerator <= most &&
    f.denominator * 1000n <= most &&
    f.denominator * 1000n * tokens.numerator <= most * tokens.denominator;
  if (fits(exact)) return exact;
  const room = (most * tokens.denominator) / (tokens.numerator * 1000n);
  if (room >= 1n) {
    const rounded = fractionFromBelow(exact, room);
    const error = exact.numerator * rounded.denominator - rounded.numerator * exact.denominator;
    const relative = exact.numerator * rounded.denominator;
    if (rounded.numerator > 0n && fits(rounded) && error * MAX_ROUNDING <= relative) return rounded;
  }
  throw new InvalidLimitError(
    `${place}: rate ${limit.rate} per ${shown(limit.per ?? 'second')} with capacity ${limit.capacity ?? 'left out'} ` +
      `cannot be counted exactly (an empty bucket must refill within 71 years): lower the capacity or use a rounder rate`,
  );
}

/** FNV-1a over 32-bit words, folded to 24 bits. */
function fingerprintOf(algorithm: AlgorithmName, ...numbers: number[]): number {
  let hash = 0x811c9dc5;
  for (const number of numbers) {
    for (const character of String(number)) {
      hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    }
    hash = Math.imul(hash ^ 0x2c, 0x01000193);
  }
  return ALGORITHMS.indexOf(algorithm) * FINGERPRINTS + (((hash >>> 24) ^ hash) & 0xffffff);
}

/** So much a window: counted in thousandths of a token, whatever the period. */
function parseWindow(
  limit: Limit,
  algorithm: AlgorithmName,
  perMs: number,
  place: string,
): ParsedLimit {
  const { rate, capacity } = limit;
  if (capacity !== undefined && capacity !== rate) {
    throw new InvalidLimitError(
      `${place}: capacity ${shown(capacity)} is not the rate ${rate}: algorithm "${algorithm}" lets rate tokens through a window; leave the capacity out`,
    );
  }
  positive(rate, place, 'rate', 1, MAX_RATE);
  const credits = capacityThousandths(rate);
  const lengthUs = perMs * US_PER_MS;
  if (lengthUs > MAX_CREDITS || credits * LEAST_STEPS > 2 * MAX_CREDITS) {
    throw new InvalidLimitError(
      `${place}: rate ${rate} per ${shown(limit.per ?? 'second')} cannot be counted exactly by "${algorithm}": use a shorter period or a lower rate`,
    );
  }
  return {
    algorithm,
    n: lengthUs,
    q: 1,
    capacity: credits,
    limit: Math.floor(credits / THOUSANDTHS_PER_TOKEN),
    fingerprint: fingerprintOf(algorithm, lengthUs, 1, credits),
    rate,
    perMs,
    capacityTokens: credits / THOUSANDTHS_PER_TOKEN,
  };
}

/**
 * Parses and checks a limit.
 *
 * A number is turned into the simplest fraction within 1e-12 (1/3 means exactly a third).
 *
 * @param place where the limit stands, for messages: `RateLimitModule: tiers.free`
 * @throws InvalidLimitError naming the place, the option and the value
 */
export function parseLimit(limit: Limit, place: string): ParsedLimit {
  if (typeof limit !== 'object' || limit === null) {
    throw new InvalidLimitError(
      `${place}: ${shown(limit)} is not a limit: give { rate, capacity }`,
    );
  }
  if (limit.warmUpMs !== undefined) {
    throw new InvalidLimitError(
      `${place}: warmUpMs ${shown(limit.warmUpMs)} is for acquire alone: leave it out here`,
    );
  }
  const rate = positive(limit.rate, place, 'rate', MIN_RATE, MAX_RATE);
  const perMs = periodMs(limit.per ?? 'second');
  if (perMs === undefined || limit.per === null) {
    throw new InvalidLimitError(
      `${place}: per ${shown(limit.per)} is not a period: use ${PERIOD_NAMES.map((name) => `"${name}"`).join(', ')} or whole milliseconds`,
    );
  }
  const { algorithm = 'token-bucket' } = limit;
  if (!ALGORITHMS.includes(algorithm)) {
    throw new InvalidLimitError(
      `${place}: algorithm ${shown(algorithm)} is unknown: use one of ${ALGORITHMS.join(', ')}`,
    );
  }
  if (limit.name !== undefined) checkName(limit.name, place);
  if (algorithm === 'sliding-window' || algorithm === 'fixed-window') {
    return parseWindow(limit, algorithm, perMs, place);
  }
  let tokens: Fraction;
  if (limit.capacity === undefined) {
    tokens = defaultCapacity(rate, perMs);
  } else {
    positive(limit.capacity, place, 'capacity', 1, Number.MAX_SAFE_INTEGER);
    tokens = fraction(BigInt(capacityThousandths(limit.capacity)), 1000n);
  }
  const perMsFraction = fitting(perMillisecond(rate, perMs), tokens, place, limit);
  const n = Number(perMsFraction.numerator);
  const q = Number(perMsFraction.denominator);
  const capacity = Number(
    (perMsFraction.denominator * 1000n * tokens.numerator) / tokens.denominator,
  );
  return {
    algorithm,
    n,
    q,
    capacity,
    limit: Math.floor(capacity / (q * THOUSANDTHS_PER_TOKEN)),
    fingerprint: fingerprintOf(algorithm, n, q, capacity),
    rate,
    perMs,
    capacityTokens: capacity / (q * THOUSANDTHS_PER_TOKEN),
  };
}

/** Tokens per second, for headers and information. */
export function ratePerSecond({ algorithm, n, q, rate, perMs }: ParsedLimit): number {
  const isWindow = algorithm === 'sliding-window' || algorithm === 'fixed-window';
  return isWindow ? (rate / perMs) * MS_PER_SECOND : (n / q) * MS_PER_SECOND;
}
