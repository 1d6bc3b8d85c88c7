// What a limit would decide of arrivals, without a server and without waiting.
import { bucketNamer } from '../core/bucket-key';
import type { Decision } from '../core/decision';
import { US_PER_MS } from '../core/duration';
import { InvalidLimitError } from '../core/errors';
import { shown, type Limit } from '../core/limit';
import { bucketCharge, decision } from '../limiter/charge';
import { parsePolicy, scoped } from '../limiter/policy';
import { MemoryStore } from '../store/memory/memory-store';
import { type Admission, EnvelopeError, envelopeViolation } from './envelope';
import { FakeClock } from './fake-clock';

/** Somebody asks. */
export interface Arrival {
  /** Milliseconds from the start, at least 0; may be a fraction. */
  readonly atMs: number;
  /** Tokens. @default 1 */
  readonly cost?: number;
  /** Whose bucket. @default 'anyone' */
  readonly key?: string;
}

/** The answer to one arrival. */
export interface SimulatedDecision extends Decision {
  readonly atMs: number;
}

/** Sums over all keys. */
export interface SimulationTotals {
  readonly allowed: number;
  readonly denied: number;
  /** Tokens of what was allowed. */
  readonly admitted: number;
}

/** The decisions, in the order of the arrivals. */
export interface Simulation extends ReadonlyArray<SimulatedDecision> {
  readonly totals: SimulationTotals;
}

const ANYONE = 'anyone';

/**
 * Decides arrivals as the limiter would, each key with a bucket that is full at the start. What was admitted is held
 * against the limit's envelope in every window of time.
 *
 * @param arrivals their times in ms from the start, or more of them; in the order of time
 * @throws InvalidLimitError, InvalidCostError, CostExceedsCapacityError as the limiter
 * @throws EnvelopeError if more was admitted in a window than the limit promises
 */
export function simulate(limit: Limit, arrivals: Iterable<number | Arrival>): Simulation {
  const clock = new FakeClock();
  const startMs = clock.nowMs();
  const store = new MemoryStore({ clock });
  const policy = parsePolicy(limit, {}, {}, 'simulate: limit');
  const place = scoped(policy, 'app', bucketNamer('simulation'));
  const decisions = [...arrivals].map((arrival, i): SimulatedDecision => {
    const {
      atMs,
      cost = 1,
      key = ANYONE,
    } = typeof arrival === 'number' ? { atMs: arrival } : arrival;
    if (!(typeof atMs === 'number' && atMs < Infinity && startMs + atMs >= clock.nowMs())) {
      throw new InvalidLimitError(
        `simulate: atMs ${shown(atMs)} of arrival ${i} is not a time from the start, in order`,
      );
    }
    clock.set(startMs + atMs);
    const charge = { scoped: place, key, cost };
    const [outcome] = store.take([bucketCharge(charge)]);
    const answer = { outcomes: [outcome], source: 'memory', degraded: false } as const;
    return { ...decision(charge, outcome, answer), atMs };
  });
  const allowed = decisions.filter((each) => each.allowed);
  const byKey = new Map<string, Admission[]>();
  for (const { key, atMs, cost } of allowed) {
    const admissions = byKey.get(key) ?? [];
    // By the time that the store saw: one near zero has more digits than one of today.
    admissions.push({ atMs: startMs + atMs, cost });
    byKey.set(key, admissions);
  }
  for (const [key, admissions] of byKey) {
    const violation = envelopeViolation(limit, admissions);
    if (violation === undefined) continue;
    const sinceStart = (ms: number) => Math.round((ms - startMs) * US_PER_MS) / US_PER_MS;
    throw new EnvelopeError(key, {
      ...violation,
      fromMs: sinceStart(violation.fromMs),
      toMs: sinceStart(violation.toMs),
    });
  }
  const totals = {
    allowed: allowed.length,
    denied: decisions.length - allowed.length,
    admitted: allowed.reduce((sum, { cost }) => sum + cost, 0),
  };
  return Object.assign(decisions, { totals });
}
