// The worker shedder on a clock and readings of the test: gradual, in order, slow to come back, and steady.
import { FakeClock } from '../testing/fake-clock';
import type { Criticality } from './criticality';
import { WorkerShedder, type WorkerShedderOptions } from './worker-shedder';

const OPTIONS = { eventLoopDelayMs: { from: 50, full: 250 }, riseMs: 2000, fallMs: 30_000 };

/** A process whose load the test sets. */
function worker(options: WorkerShedderOptions = OPTIONS) {
  const clock = new FakeClock();
  const load = { eventLoopDelayMs: 0, inFlight: 0 };
  const reads = { count: 0 };
  const read = () => (reads.count++, load);
  const shedder = new WorkerShedder(options, read, 'here', clock.monotonicMs());
  return {
    clock,
    load,
    reads,
    level: () => shedder.levelAt(clock.monotonicMs()),
    /** The share that is shed, of 1000 calls drawn evenly. */
    share: (criticality: Criticality) => {
      const draws = Array.from({ length: 1000 }, (_, i) => i / 1000);
      const shed = draws.filter((draw) => shedder.sheds(criticality, draw, clock.monotonicMs()));
      return shed.length / 1000;
    },
  };
}

describe('a worker shedder', () => {
  it('sheds nothing at rest, nor at the first bad reading more than a little', () => {
    const { clock, load, share, level } = worker();
    clock.advance(1000);
    expect(level()).toBe(0);
    expect(share('sheddable')).toBe(0);
    load.eventLoopDelayMs = 10_000;
    clock.advance(100);
    expect(share('sheddable')).toBe(0.1);
    expect(share('default')).toBe(0);
  });

  it('under full pressure: all that is sheddable after half of riseMs, all of default after riseMs, critical never', () => {
    const { clock, load, share } = worker();
    load.eventLoopDelayMs = 250;
    const seen: unknown[] = [];
    for (const quarter of [1, 2, 3, 4, 5]) {
      for (let i = 0; i < 5; i++) {
        clock.advance(100);
        share('critical');
      }
      const shares = (['sheddable', 'default', 'critical'] as const).map(share);
      seen.push([quarter, ...shares.map((each) => Math.round(each * 100))]);
    }
    expect(seen).toEqual([
      [1, 50, 0, 0],
      [2, 100, 0, 0],
      [3, 100, 50, 0],
      [4, 100, 100, 0],
      [5, 100, 100, 0],
    ]);
  });

  it('rests where the pressure is: half way between from and full, what is sheddable goes and no more', () => {
    const { clock, load, share, level } = worker();
    load.eventLoopDelayMs = 150;
    for (let i = 0; i < 100; i++) {
      clock.advance(100);
      level();
    }
    expect(level()).toBe(0.5);
    expect([share('sheddable'), share('default')]).toEqual([1, 0]);
  });

  it('comes back slowly: fifteen times slower than it went', () => {
    const { clock, load, level } = worker();
    load.eventLoopDelayMs = 1000;
    for (let i = 0; i < 20; i++) {
      clock.advance(100);
      level();
    }
    expect(level()).toBe(1);
    load.eventLoopDelayMs = 0;
    clock.advance(15_000);
    expect(level()).toBeCloseTo(0.5, 10);
    clock.advance(14_900);
    expect(level()).toBeGreaterThan(0);
    clock.advance(200);
    expect(level()).toBe(0);
  });

  it('is steady when shedding itself relieves the process: one turn up, no swinging', () => {
    const { clock, load, level } = worker();
    // Twice what the process can bear; what is shed presses no more.
    const levels: number[] = [];
    for (let i = 0; i < 600; i++) {
      load.eventLoopDelayMs = Math.max(0, 400 * (1 - level()) - 50);
      clock.advance(100);
      levels.push(level());
    }
    const settled = levels.slice(100);
    expect(Math.max(...settled) - Math.min(...settled)).toBeLessThan(0.06);
  });

  it('takes a reading when it is asked, at most one in sampleMs, and none moves it by more than a quarter', () => {
    const { clock, load, reads, level } = worker();
    load.eventLoopDelayMs = 1000;
    clock.advance(99);
    level();
    expect(reads.count).toBe(0);
    clock.advance(3_600_000);
    expect([level(), level(), level()]).toEqual([0.25, 0.25, 0.25]);
    expect(reads.count).toBe(1);
  });

  it('the worse of two signals counts', () => {
    const { clock, load, level } = worker({ ...OPTIONS, inFlight: { from: 10, full: 20 } });
    Object.assign(load, { eventLoopDelayMs: 70, inFlight: 15 });
    for (let i = 0; i < 100; i++) {
      clock.advance(100);
      level();
    }
    expect(level()).toBe(0.5);
  });

  it.each([
    [{ eventLoopDelayMs: 50 }, 'eventLoopDelayMs 50 is no range'],
    [{ eventLoopDelayMs: { from: 50, full: 50 } }, '{ from: 50, full: 50 } is no range'],
    [{ eventLoopDelayMs: { from: -1, full: 50 } }, '{ from: -1, full: 50 } is no range'],
    [{ inFlight: { from: 1, full: Infinity } }, 'inFlight { from: 1, full: Infinity } is no range'],
    [{ inFlight: { from: NaN, full: 2 } }, 'inFlight { from: NaN, full: 2 } is no range'],
    [{ eventLoopDelayMs: false }, 'nothing is watched'],
    [{ riseMs: 0 }, 'riseMs 0 is not a whole number from 1'],
    [{ fallMs: 0.5 }, 'fallMs 0.5 is not a whole number'],
    [{ sampleMs: 5 }, 'sampleMs 5 is not a whole number from 10'],
  ])('refuses %j', (options, message) => {
    expect(() => worker(options as WorkerShedderOptions)).toThrow(message);
  });
});

describe('readings that are no numbers say nothing', () => {
  it.each([NaN, undefined, -5])('%p', (value) => {
    const { clock, load, level } = worker();
    load.eventLoopDelayMs = value as number;
    clock.advance(100);
    expect(level()).toBe(0);
  });
});
