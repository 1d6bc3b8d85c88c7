import { FakeClock } from './fake-clock';

describe('FakeClock', () => {
  it('stands still until it is moved', () => {
    const clock = new FakeClock(1000);
    expect([clock.nowMs(), clock.nowMs(), clock.monotonicMs()]).toEqual([1000, 1000, 0]);
  });

  it('advances both clocks, by fractions too', () => {
    const clock = new FakeClock(1000);
    clock.advance(2.5);
    clock.advance(0);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([1002.5, 2.5]);
  });

  it('steps the wall clock alone, back as well', () => {
    const clock = new FakeClock(1000);
    clock.advance(10);
    clock.set(400);
    expect([clock.nowMs(), clock.monotonicMs()]).toEqual([400, 10]);
  });

  it.each([-1, NaN])('refuses to advance by %p', (ms) => {
    expect(() => new FakeClock().advance(ms)).toThrow(RangeError);
  });

  it('starts at a date of our century', () => {
    expect(new Date(new FakeClock().nowMs()).toISOString()).toBe('2026-01-01T00:00:00.000Z');
  });
});

describe('waiting on a FakeClock', () => {
  it('runs what is due in order, each at its own moment', () => {
    const clock = new FakeClock(1000);
    const ran: [string, number][] = [];
    const note = (name: string) => () => ran.push([name, clock.nowMs()]);
    clock.after(20, note('later'));
    clock.after(10.5, note('first'));
    clock.after(10.5, note('second'));
    clock.after(0, note('now'));
    expect([ran, clock.pending]).toEqual([[], 4]);
    clock.advance(10.5);
    expect(ran).toEqual([
      ['now', 1000],
      ['first', 1010.5],
      ['second', 1010.5],
    ]);
    clock.advance(9.499);
    expect(clock.pending).toBe(1);
    clock.advance(0.001);
    expect(ran.at(-1)).toEqual(['later', 1020]);
  });

  it('runs in one step what is asked for on the way', () => {
    const clock = new FakeClock(0);
    const ran: number[] = [];
    const again = () => {
      ran.push(clock.nowMs());
      clock.after(10, again);
    };
    clock.after(10, again);
    clock.advance(35);
    expect([ran, clock.nowMs()]).toEqual([[10, 20, 30], 35]);
  });

  it('forgets what was called off', () => {
    const clock = new FakeClock();
    const run = jest.fn();
    const callOff = clock.after(5, run);
    callOff();
    callOff();
    clock.advance(10);
    expect([run.mock.calls.length, clock.pending]).toEqual([0, 0]);
  });

  it('lets promises settle at each moment', async () => {
    const clock = new FakeClock(0);
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
    const seen: number[] = [];
    const work = async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(100);
        await Promise.resolve();
        seen.push(clock.nowMs());
      }
    };
    const working = work();
    await clock.advanceAsync(250);
    expect([seen, clock.nowMs()]).toEqual([[100, 200], 250]);
    await clock.advanceAsync(50);
    await working;
    expect(seen).toEqual([100, 200, 300]);
  });

  it('tells when so many wait', async () => {
    const clock = new FakeClock();
    let told = false;
    const two = clock.untilPending(2).then(() => (told = true));
    clock.after(1, () => undefined);
    await Promise.resolve();
    expect(told).toBe(false);
    clock.after(1, () => undefined);
    await two;
    await clock.untilPending(2);
  });

  it('keeps microseconds over millions of steps', () => {
    const clock = new FakeClock();
    const startMs = clock.nowMs();
    for (let i = 0; i < 1e6; i++) clock.advance(0.001);
    expect(Math.floor(clock.nowMs() * 1000) - startMs * 1000).toBe(1e6);
  });

  it.each([-1, NaN])('refuses to advance by %p, asynchronously too', async (ms) => {
    await expect(new FakeClock().advanceAsync(ms)).rejects.toThrow(RangeError);
  });
});
