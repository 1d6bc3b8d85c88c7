import { randomBytes } from 'node:crypto';
import { systemClock } from '../core/clock';
import { Deadlines } from './deadlines';

const late = () => new Error('late');

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  return { promise, resolve, reject };
}

/** What became of a promise so far. */
function watched<T>(promise: Promise<T>) {
  const seen: { state: 'open' | 'done' | 'failed'; atMs?: number } = { state: 'open' };
  promise.then(
    () => Object.assign(seen, { state: 'done', atMs: systemClock.monotonicMs() }),
    () => Object.assign(seen, { state: 'failed', atMs: systemClock.monotonicMs() }),
  );
  return seen;
}

describe('Deadlines', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('hands on what comes in time', async () => {
    const deadlines = new Deadlines(250);
    await expect(deadlines.bound(Promise.resolve(7), late)).resolves.toBe(7);
    await expect(deadlines.bound(Promise.reject(new Error('no')), late)).rejects.toThrow('no');
  });

  it('ends a wait at its time, not before', async () => {
    const deadlines = new Deadlines(250);
    const wait = watched(deadlines.bound(new Promise(() => undefined), late));
    await jest.advanceTimersByTimeAsync(249);
    expect(wait.state).toBe('open');
    await jest.advanceTimersByTimeAsync(2);
    expect(wait.state).toBe('failed');
  });

  it('ends each of many waits at its own time, with one timer', async () => {
    const deadlines = new Deadlines(100);
    const start = systemClock.monotonicMs();
    const waits: ReturnType<typeof watched>[] = [];
    for (let i = 0; i < 50; i++) {
      waits.push(watched(deadlines.bound(new Promise(() => undefined), late)));
      expect(jest.getTimerCount()).toBe(1);
      await jest.advanceTimersByTimeAsync(3);
    }
    await jest.advanceTimersByTimeAsync(200);
    waits.forEach(({ state, atMs = Infinity }, i) => {
      expect(state).toBe('failed');
      expect(atMs - start).toBeGreaterThanOrEqual(100 + 3 * i);
      expect(atMs - start).toBeLessThanOrEqual(102 + 3 * i);
    });
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not let a wait that ends early disturb those around it', async () => {
    const deadlines = new Deadlines(100);
    const all = Array.from({ length: 3000 }, () => deferred<number>());
    const waits = all.map(({ promise }) => watched(deadlines.bound(promise, late)));
    all.forEach(({ resolve, reject }, i) => {
      if (i % 3 === 0) resolve(i);
      if (i % 3 === 1) reject(new Error('no'));
    });
    await jest.advanceTimersByTimeAsync(50);
    expect(waits.slice(0, 3).map(({ state }) => state)).toEqual(['done', 'failed', 'open']);
    await jest.advanceTimersByTimeAsync(60);
    expect(waits.every(({ state }, i) => state === (i % 3 === 0 ? 'done' : 'failed'))).toBe(true);
    const next = watched(deadlines.bound(new Promise(() => undefined), late));
    await jest.advanceTimersByTimeAsync(99);
    expect(next.state).toBe('open');
    await jest.advanceTimersByTimeAsync(3);
    expect(next.state).toBe('failed');
  });

  it('ignores what comes after the end', async () => {
    const deadlines = new Deadlines(100);
    const [first, second] = [deferred<number>(), deferred<number>()];
    const waits = [first, second].map(({ promise }) => deadlines.bound(promise, late));
    const outcomes = Promise.allSettled(waits);
    await jest.advanceTimersByTimeAsync(101);
    first.resolve(1);
    second.reject(new Error('too late to matter'));
    expect((await outcomes).map((outcome) => (outcome as PromiseRejectedResult).reason)).toEqual([
      late(),
      late(),
    ]);
  });

  it('ends open waits when it is closed, and leaves no timer', async () => {
    const deadlines = new Deadlines(100);
    const answer = deferred<number>();
    const [kept, open] = [
      deadlines.bound(Promise.resolve(1), late),
      deadlines.bound(answer.promise, late),
    ];
    await expect(kept).resolves.toBe(1);
    const ended = open.catch((error: unknown) => error);
    deadlines.close();
    expect(await ended).toEqual(late());
    answer.resolve(2);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('Deadlines and a stall of our own event loop', () => {
  it('let an answer win that arrived while we were busy', async () => {
    const deadlines = new Deadlines(5);
    // An answer from outside the event loop, as from a socket: it is there long before the stall ends.
    const answer = new Promise<string>((resolve) => randomBytes(8, () => resolve('arrived')));
    const bounded = deadlines.bound(answer, late);
    const until = systemClock.monotonicMs() + 300;
    while (systemClock.monotonicMs() < until); // nobody reads the answer; the timer is due long since
    await expect(bounded).resolves.toBe('arrived');
  });
});
