// The laws of load shedding, for any history of readings: order, ramp, slow return, rest.
import * as fc from 'fast-check';
import { CRITICALITIES, shedShare } from '../../src/limiter/criticality';
import type { LoadReading } from '../../src/limiter/load-level';
import { WorkerShedder, type WorkerShedderOptions } from '../../src/limiter/worker-shedder';

const RUNS = { numRuns: 20_000 };
/** Beyond rounding of doubles, for sums of steps. */
const DUST = 1e-9;

const options = fc.record({
  eventLoopDelayMs: fc
    .tuple(fc.nat(500), fc.integer({ min: 1, max: 1000 }))
    .map(([from, more]) => ({ from, full: from + more })),
  inFlight: fc.option(
    fc
      .tuple(fc.nat(100), fc.integer({ min: 1, max: 1000 }))
      .map(([from, more]) => ({ from, full: from + more })),
    { nil: undefined },
  ),
  riseMs: fc.integer({ min: 1, max: 10_000 }),
  fallMs: fc.integer({ min: 1, max: 60_000 }),
  sampleMs: fc.integer({ min: 10, max: 1000 }),
});
const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.nat(1500), fc.double({ min: 0, max: 100_000, noNaN: true })),
    eventLoopDelayMs: fc.oneof(fc.double({ min: 0, max: 3000, noNaN: true }), fc.constant(NaN)),
    inFlight: fc.nat(2000),
    draw: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  }),
  { maxLength: 30 },
);

type Step = LoadReading & { readonly afterMs: number; readonly draw: number };

/** A shedder that is led through readings; `look` after each. */
function led(
  given: WorkerShedderOptions,
  history: readonly Step[],
  look: (shedder: WorkerShedder, step: Step, nowMs: number) => void,
): void {
  let [nowMs, current]: [number, LoadReading] = [0, { eventLoopDelayMs: 0, inFlight: 0 }];
  const shedder = new WorkerShedder(given, () => current, 'here', nowMs);
  for (const step of history) {
    nowMs += step.afterMs;
    current = step;
    look(shedder, step, nowMs);
  }
}

describe('load shedding', () => {
  it('order: a more critical call is never shed when a less critical one would pass at the same reading', () => {
    fc.assert(
      fc.property(options, steps, (given, history) => {
        let holds = true;
        led(given, history, (shedder, { draw }, nowMs) => {
          const shed = CRITICALITIES.map((each) => shedder.sheds(each, draw, nowMs));
          // From the most critical on: once one is shed, so is whatever matters less.
          holds &&= !shed[0] && (!shed[1] || shed[2]);
        });
        expect(holds).toBe(true);
      }),
      RUNS,
    );
  });

  it('one after the other: nothing of default is shed while anything sheddable would pass', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (level) => {
        const [critical, other, sheddable] = CRITICALITIES.map((each) => shedShare(each, level));
        expect(critical).toBe(0);
        expect(other > 0 && sheddable < 1).toBe(false);
      }),
      RUNS,
    );
  });

  it('monotone: a higher level sheds no less of anything', () => {
    const level = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(level, level, fc.constantFrom(...CRITICALITIES), (a, b, criticality) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        expect(shedShare(criticality, low)).toBeLessThanOrEqual(shedShare(criticality, high));
      }),
      RUNS,
    );
  });

  it('ramp: the level stays within 0 and 1, rises by at most a quarter a reading, and never faster than riseMs and fallMs', () => {
    fc.assert(
      fc.property(options, steps, (given, history) => {
        let [before, readAtMs, holds] = [0, 0, true];
        led(given, history, (shedder, _, nowMs) => {
          const level = shedder.levelAt(nowMs);
          const passedMs = nowMs - readAtMs;
          const isRead = passedMs >= given.sampleMs;
          const mostUp = isRead ? Math.min(0.25, passedMs / given.riseMs) + DUST : 0;
          const mostDown = isRead ? passedMs / given.fallMs + DUST : 0;
          holds &&= level >= 0 && level <= 1;
          holds &&= level - before <= mostUp && before - level <= mostDown;
          before = level;
          if (isRead) readAtMs = nowMs;
        });
        expect(holds).toBe(true);
      }),
      RUNS,
    );
  });

  it('rest: after fallMs without pressure nothing is shed, whatever was before', () => {
    fc.assert(
      fc.property(options, steps, (given, history) => {
        let current: LoadReading = { eventLoopDelayMs: 0, inFlight: 0 };
        let nowMs = 0;
        const shedder = new WorkerShedder(given, () => current, 'here', nowMs);
        for (const step of history) {
          nowMs += step.afterMs;
          current = step;
          shedder.levelAt(nowMs);
        }
        current = { eventLoopDelayMs: 0, inFlight: 0 };
        nowMs += given.sampleMs;
        shedder.levelAt(nowMs);
        nowMs += given.fallMs + given.sampleMs;
        expect(shedder.levelAt(nowMs)).toBe(0);
      }),
      RUNS,
    );
  });
});
