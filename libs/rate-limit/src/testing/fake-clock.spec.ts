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
