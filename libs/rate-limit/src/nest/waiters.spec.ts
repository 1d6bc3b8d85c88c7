import { systemClock } from '../core/clock';
import { LimiterClosedError, TooManyWaitersError } from '../core/errors';
import { Waiters, type Interruption } from './waiters';

const never: Interruption = () => () => undefined;
const turn = () => Promise.resolve();

describe('Waiters', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('waits as long as asked, and no shorter when a timer fires early', async () => {
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const done = jest.fn();
    void new Waiters(systemClock).wait(10.2, never).then(done);
    nowMs = 10.1;
    jest.advanceTimersByTime(11);
    await turn();
    expect(done).not.toHaveBeenCalled();
    nowMs = 10.3;
    jest.advanceTimersByTime(1);
    await turn();
    expect(done).toHaveBeenCalled();
    jest.restoreAllMocks();
  });

  it('does not wait for a moment that is there', async () => {
    await new Waiters(systemClock).wait(0, never);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits longer than a timer of Node can', async () => {
    const done = jest.fn();
    const days = 50 * 86_400_000;
    void new Waiters(systemClock).wait(days, never).then(done);
    jest.advanceTimersByTime(days - 1);
    await turn();
    expect(done).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    await turn();
    expect(done).toHaveBeenCalled();
  });

  it('ends early by an interruption, whose listening ends with every wait', async () => {
    const stopped = jest.fn();
    let interrupt: (reason: Error) => void = () => undefined;
    const waiters = new Waiters(systemClock);
    const waiting = waiters.wait(1000, (end) => {
      interrupt = end;
      return stopped;
    });
    interrupt(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect([stopped.mock.calls.length, jest.getTimerCount()]).toEqual([1, 0]);

    const other = waiters.wait(5, () => stopped);
    jest.advanceTimersByTime(5);
    await other;
    expect(stopped).toHaveBeenCalledTimes(2);
  });

  it('does not begin when it is interrupted at once', async () => {
    const stopped = jest.fn();
    const waiting = new Waiters(systemClock).wait(1000, (end) => {
      end(new Error('gone already'));
      return stopped;
    });
    await expect(waiting).rejects.toThrow('gone already');
    expect([stopped.mock.calls.length, jest.getTimerCount()]).toEqual([1, 0]);
  });

  it('has room for a thousand', async () => {
    const waiters = new Waiters(systemClock);
    const waiting = Array.from({ length: 1000 }, () => waiters.wait(5, never));
    expect(() => waiters.checkRoom()).toThrow(TooManyWaitersError);
    expect(() => void waiters.wait(5, never)).toThrow(TooManyWaitersError);
    jest.advanceTimersByTime(5);
    await Promise.all(waiting);
    expect(() => waiters.checkRoom()).not.toThrow();
  });

  it('ends all waits when the application closes, and begins no more', async () => {
    const waiters = new Waiters(systemClock);
    const waiting = waiters.wait(1000, never);
    waiters.beforeApplicationShutdown();
    await expect(waiting).rejects.toThrow(LimiterClosedError);
    expect(() => waiters.checkRoom()).toThrow(LimiterClosedError);
    expect(jest.getTimerCount()).toBe(0);
  });
});
