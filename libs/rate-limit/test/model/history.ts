// Random histories of one bucket: what happens to it, made concrete by running it once in TypeScript.
// Raw numbers come from fast-check, so that a failing history shrinks.
import fc from 'fast-check';
import {
  giveBack,
  refill,
  rescale,
  take,
  timeToFull,
} from '../../src/core/algorithms/token-bucket';
import { MAX_CREDITS } from '../../src/core/limit';

/** A limit in core units. */
export interface Numbers {
  readonly n: number;
  readonly q: number;
  readonly cap: number;
}

/** One event, with everything about it settled. */
export interface Event extends Numbers {
  readonly kind: 'take' | 'giveBack';
  readonly now: number;
  readonly cost: number;
  readonly maxWait: number;
  /** Of the grant that is given back. */
  readonly startsAt: number;
}

/** What an event did. */
export interface Effect {
  readonly ok: boolean;
  readonly wait: number;
  readonly c: number;
  readonly t: number;
  readonly full: number;
}

/** A history, and what came of it in TypeScript. */
export interface History {
  readonly events: readonly Event[];
  readonly effects: readonly Effect[];
}

export interface RawHistory {
  readonly limits: readonly (readonly [number, number, number])[];
  readonly steps: readonly (readonly [number, number])[];
}

const uint32 = fc.nat({ max: 2 ** 32 - 1 });

/** At least 20 steps over up to three limits. */
export const rawHistory: fc.Arbitrary<RawHistory> = fc.record({
  limits: fc.array(fc.tuple(uint32, uint32, uint32), { minLength: 1, maxLength: 3 }),
  steps: fc.array(fc.tuple(uint32, uint32), { minLength: 20, maxLength: 25 }),
});

/** Whole number from 1 to `most`, of any magnitude. */
function anyMagnitude(raw: number, most: number): number {
  const bits = 1 + (raw % 52);
  const value = Math.floor((raw / 2 ** 32) * 2 ** bits) + 1;
  return Math.min(value, most);
}

/** Everyday limits, limits of any magnitude, and limits that touch the bounds. */
function numbers([a, b, c]: readonly [number, number, number]): Numbers {
  const style = a % 8;
  if (style < 4) {
    const q = [1, 100, 250, 600, 3000, 10_000, 1_000_000, 3_600_000][b % 8];
    const cap = q * (1000 + (c % 50_000));
    return { n: style < 2 ? 1 : 1 + (b % 2000), q, cap };
  }
  const mostQ = Math.floor(MAX_CREDITS / 1000);
  const q = style === 7 ? mostQ : anyMagnitude(b, mostQ);
  const cap = style === 6 ? MAX_CREDITS : Math.max(q * 1000, anyMagnitude(c, MAX_CREDITS));
  return { n: anyMagnitude(a, MAX_CREDITS), q, cap };
}

/** When clocks of histories start: today, in µs. */
const START_US = 1_796_083_200_000_000;
const EARLIEST = 1e6;
/** Year 2100: `now + wait` stays below 2^53 for every wait that a limit can have. */
const LATEST = 4_102_444_800_000_000;
const HOUR_US = 3_600_000_000;

/** Runs a history, and returns what was done and what came of it. */
export function run({ limits: raw, steps }: RawHistory): History {
  const limits = raw.map(numbers);
  let { n, q, cap } = limits[0];
  let now = START_US;
  let [c, t, unit] = [cap, now, q];
  let lastWait = 0;
  let grants: { cost: number; startsAt: number }[] = [];
  const events: Event[] = [];
  const effects: Effect[] = [];
  for (const [x, y] of steps) {
    const part = y / 2 ** 32;
    now = Math.min(LATEST, Math.max(EARLIEST, now + passed(x & 15, part, cap / n, lastWait)));
    const action = (x >>> 4) & 15;
    if (action >= 14) {
      const next = limits[y % limits.length];
      if (next.q !== q) grants = [];
      ({ n, q, cap } = next);
    }
    if (events.length === 0) [c, t, unit] = [cap, now, q]; // nothing kept yet: full
    if (unit !== q) c = rescale(c, unit, q, cap);
    unit = q;
    [c, t] = refill(c, t, n, cap, now);
    let ok = true;
    let wait = 0;
    if ((action === 12 || action === 13) && grants.length > 0) {
      const [grant] = grants.splice(y % grants.length, 1);
      events.push({ kind: 'giveBack', now, n, q, cap, ...grant, maxWait: 0 });
      c = giveBack(c, t, n, cap, grant.cost, grant.startsAt);
    } else {
      const cost = priced((x >>> 8) & 15, part, q, cap);
      const maxWait = patience(action, part, cap / n);
      events.push({ kind: 'take', now, n, q, cap, cost, maxWait, startsAt: 0 });
      [ok, wait, c] = take(c, t, n, cost, maxWait, now);
      if (ok) grants.push({ cost, startsAt: now + wait });
      else lastWait = wait;
    }
    effects.push({ ok, wait, c, t, full: timeToFull(c, t, n, cap, now) });
  }
  return { events, effects };
}

/** µs between two events; negative when the clock goes back. */
function passed(kind: number, part: number, fillUs: number, lastWait: number): number {
  if (kind < 5) return 0;
  if (kind < 8) return Math.floor(part * 1000);
  if (kind < 11) return Math.floor(part * fillUs);
  if (kind === 11) return lastWait;
  if (kind === 12) return Math.max(0, lastWait - 1);
  if (kind === 13) return Math.floor(part * 3 * fillUs);
  return -Math.floor(part * (kind === 14 ? fillUs : 4 * HOUR_US));
}

/** Credits: a token, thousandths, everything, or anything between. */
function priced(kind: number, part: number, q: number, cap: number): number {
  const thousandths = Math.floor(cap / q);
  if (kind < 6) return q * 1000;
  if (kind < 8) return q;
  if (kind < 10) return q * thousandths;
  return q * Math.max(1, Math.floor(part * thousandths));
}

function patience(action: number, part: number, fillUs: number): number {
  if (action < 6) return 0;
  if (action < 9) return Math.floor(part * fillUs);
  return Math.floor(part * (action < 11 ? HOUR_US : MAX_CREDITS));
}
