// The laws of the queue that the in-process one keeps to the microsecond, by their numbers in the queue's contract.
import { WaitTooLongError } from '../../src/core/errors';
import { parseLimit } from '../../src/core/limit';
import { JobExpiredError, QueueFullError } from '../../src/queue/queue-errors';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { envelopeViolation, FakeClock } from '../../src/testing';
import type { InProcessQueue } from '../../src/testing/queue/in-process-queue';
import { openInProcessQueue } from '../../src/testing/queue/open-in-process-queue';
import { failureOf, type Mail, names, never, started, working } from '../support/in-process-setup';

describe('the in-process queue keeps the laws exactly', () => {
  it('1, 2, 3, 6: starts in order, each at the first microsecond that its token is there', async () => {
    const { clock, queue, starts, epochMs } = await started({ rate: 3, capacity: 2 });
    const tickets = [];
    for (const data of names(7)) tickets.push(await queue.submit(data));
    // Thirds of a second, rounded up to a whole µs each time that somebody asks.
    const due = [0, 0, 333.334, 666.667, 1000, 1333.334, 1666.667];
    expect(tickets.map(({ startsAt }) => startsAt - epochMs)).toEqual(due.map(Math.ceil));
    expect(tickets.map(({ position }) => position)).toEqual([0, 0, 1, 2, 3, 4, 5]);
    await clock.advanceAsync(2000);
    expect(starts.map(([to]) => to)).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    expect(starts.map(([, atMs]) => Math.round(atMs * 1000) / 1000)).toEqual(due);
  });

  it('1: keeps the envelope in every window, with trickling arrivals and costs', async () => {
    const limit = { rate: 50, capacity: 10 };
    const { clock, queue, store, starts } = await started({ ...limit, maxQueue: 10_000 });
    const costs = new Map<string, number>();
    for (let i = 0; i < 400; i++) {
      const cost = 1 + (i % 4) / 2;
      costs.set(`${i}`, cost);
      await queue.submit({ to: `${i}` }, { cost });
      if (i % 7 === 0) await clock.advanceAsync((i * 13.7) % 90);
    }
    await clock.advanceAsync(15_000);
    expect(starts.map(([to]) => Number(to))).toEqual([...costs.keys()].map(Number));
    const admissions = starts.map(([to, atMs]) => ({ atMs: atMs + 1e12, cost: costs.get(to) }));
    expect(envelopeViolation(limit, admissions)).toBeUndefined();
    // Work-conserving: with a start fewer tokens it would not have been possible.
    expect(envelopeViolation({ ...limit, capacity: 9.5 }, admissions)).toBeDefined();
    expect(store.size).toBe(1);
  });

  it('1: does not let two bursts through when jobs that paid wait for a worker', async () => {
    const limit = { rate: 10, capacity: 5 };
    const set = working(limit);
    for (const data of names(20)) await set.queue.submit(data);
    await set.clock.advanceAsync(10_000);
    expect(set.starts).toEqual([]);
    await set.work();
    await set.clock.advanceAsync(10_000);
    expect(set.starts.length).toBe(20);
    expect(set.starts.filter(([, atMs]) => atMs === 10_000).length).toBe(5);
    const admissions = set.starts.map(([, atMs]) => ({ atMs: atMs + set.epochMs }));
    expect(envelopeViolation(limit, admissions)).toBeUndefined();
  });

  it('5: starts another key at once behind a backlog, and its slow jobs leave room', async () => {
    const { queue, starts, clock } = await started(
      { key: ({ to }) => to.slice(0, 1), rate: 100, capacity: 100, worker: { concurrency: 5 } },
      ({ data }) => (data.to.startsWith('a') ? never() : 'done'),
    );
    for (let i = 0; i < 10; i++) await queue.submit({ to: `a${i}` });
    await queue.submit({ to: 'b' });
    expect(starts.map(([to]) => to)).toEqual(['a0', 'a1', 'a2', 'a3', 'b']);
    await clock.advanceAsync(1000);
    expect(starts.length).toBe(5);
  });

  it('7: takes exactly as many as may wait, and those that start at once', async () => {
    const { queue, clock } = await started({ maxQueue: 100 });
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.allSettled(names(1000).map((data) => queue.submit(data)));
      const accepted = answers.filter(({ status }) => status === 'fulfilled');
      expect(accepted.length).toBe(102);
      const refused = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      expect(refused.every((error) => error instanceof QueueFullError)).toBe(true);
      expect(refused[0]).toMatchObject({ bound: 'key', httpStatus: 429, retryAfterMs: 10_100 });
      await clock.advanceAsync(60_000);
      expect((await queue.counts()).waiting).toBe(0);
    }
  });

  it('7: bounds all keys together', async () => {
    const { queue } = await started({ key: ({ to }) => to, capacity: 1, maxQueueTotal: 3 });
    for (const to of ['a', 'b', 'c', 'a', 'b', 'c']) await queue.submit({ to });
    await expect(queue.submit({ to: 'a' })).rejects.toMatchObject({
      bound: 'queue',
      httpStatus: 503,
    });
    expect(await queue.trySubmit({ to: 'a' })).toBeNull();
  });

  it('9: ends what is too late, without calling its processor', async () => {
    const { queue, clock, starts } = await started(
      { worker: { concurrency: 1 } },
      () => new Promise((resolve) => clock.after(500, () => resolve('slow'))),
    );
    await queue.submit({ to: 'slow' });
    const ticket = await queue.submit({ to: 'late' }, { maxWaitMs: 200 });
    const result = failureOf(ticket.result());
    await clock.advanceAsync(200);
    expect(await ticket.ending()).toBeUndefined();
    await clock.advanceAsync(1);
    expect(await result).toBeInstanceOf(JobExpiredError);
    expect(await ticket.ending()).toEqual({ state: 'expired' });
    await clock.advanceAsync(5000);
    expect(starts.map(([to]) => to)).toEqual(['slow']);
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, completed: 1, failed: 1 });
  });

  it('9: starts at the last moment of its deadline, and refuses what could not', async () => {
    const { queue, clock, starts } = await started();
    await queue.submitMany(names(3).map((data) => ({ data })));
    await expect(queue.submit({ to: 'x' }, { maxWaitMs: 199 })).rejects.toThrow(WaitTooLongError);
    expect(await queue.trySubmit({ to: 'x' }, { maxWaitMs: 199 })).toBeNull();
    await queue.submit({ to: 'x' }, { maxWaitMs: 200 });
    await clock.advanceAsync(200);
    expect(starts.at(-1)).toEqual(['x', 200]);
  });

  it('11: leaves direct callers their part of a shared bucket, and gets its own', async () => {
    const { store, charge, queue, starts, clock } = await sharing();
    for (const data of names(200)) await queue.submit(data);
    let direct = 0;
    for (let ms = 0; ms < 10_000; ms += 10) {
      while (store.take([charge]).every(({ granted }) => granted)) direct++;
      await clock.advanceAsync(10);
    }
    // 10 a second for 10 s and a burst of 10, half and half.
    expect(direct + starts.length).toBe(110);
    expect(starts.length).toBeGreaterThanOrEqual(50);
    expect(direct).toBeGreaterThanOrEqual(50);
  });

  it('11: has the next token of an empty bucket kept for the head of the line, until that is cancelled', async () => {
    const { store, charge, queue, starts } = await sharing();
    for (let i = 0; i < 10; i++) expect(store.take([charge])[0].granted).toBe(true);
    const ticket = await queue.submit({ to: 'a' });
    expect(ticket.startsInMs).toBe(100);
    // A direct caller waits for the one after it.
    expect(store.peek([charge])[0].waitUs).toBe(200_000);
    await ticket.cancel();
    expect(store.peek([charge])[0].waitUs).toBe(100_000);
    // A head of another cost has it kept anew.
    const [first] = await queue.submitMany([{ data: { to: 'b' } }, { data: { to: 'c' }, cost: 2 }]);
    await first.cancel();
    expect(store.peek([charge])[0].waitUs).toBe(300_000);
    expect(starts).toEqual([]);
  });

  it('11: lets a cost above the share start from a full share, and has it paid back', async () => {
    const { queue, starts, clock } = await sharing();
    await queue.submit({ to: 'a' }, { cost: 7 });
    // 5 a second from 2 below nothing; of the whole bucket, 3 are left.
    expect((await queue.submit({ to: 'b' })).startsInMs).toBe(600);
    await clock.advanceAsync(600);
    expect(starts).toEqual([0, 600]);
  });
});

/** A queue that may use half of a bucket of 10, at 10 a second. */
async function sharing() {
  const clock = new FakeClock();
  const epochMs = clock.nowMs();
  const store = new MemoryStore({ clock });
  const limit = parseLimit({ rate: 10, capacity: 10 }, 'vendor');
  const bucket = 'vendor:all';
  const charge = { bucket, place: 'vendor', limit, price: 1000 * limit.q, maxWaitUs: 0 };
  const opened = openInProcessQueue(
    { name: 'mails', policy: 'vendor', share: 0.5, maxQueue: 1000 },
    { clock, store, policy: { limit, bucket: () => bucket } },
  );
  const starts: number[] = [];
  await opened.work({ process: () => starts.push(clock.nowMs() - epochMs) });
  const queue = opened.queue as unknown as InProcessQueue<Mail, number>;
  return { clock, store, charge, queue, starts };
}
