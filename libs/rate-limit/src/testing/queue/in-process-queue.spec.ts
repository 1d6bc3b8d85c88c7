import {
  CostExceedsCapacityError,
  InvalidCostError,
  InvalidLimitError,
  LimiterClosedError,
  MissingKeyError,
  UnsupportedOperationError,
} from '../../core/errors';
import {
  IdempotencyConflictError,
  JobCancelledError,
  JobExpiredError,
  JobFailedError,
  QueueFullError,
  ResultTimeoutError,
  RetryKeyLater,
} from '../../queue/queue-errors';
import type { RateLimitedQueue } from '../../queue/rate-limited-queue';
import {
  failureOf,
  type Mail,
  names,
  never,
  started,
  working,
} from '../../../test/support/in-process-setup';
import type { InProcessJob } from './in-process-job';
import type { InProcessQueue } from './in-process-queue';

describe('tickets of the in-process queue', () => {
  it('hand the result back, through JSON', async () => {
    const { queue, clock } = await started({}, ({ data }) => ({ at: new Date(0), to: data.to }));
    const [first, , third] = await queue.submitMany(names(3).map((data) => ({ data })));
    expect(first.id).toMatch(/^[0-9a-f]{32}$/);
    const at = '1970-01-01T00:00:00.000Z';
    expect(await first.result()).toEqual({ at, to: '0' });
    const result = third.result();
    await clock.advanceAsync(100);
    expect(await result).toEqual({ at, to: '2' });
    expect(await third.ending()).toEqual({ state: 'completed', value: { at, to: '2' } });
  });

  it('wait as long as the clock says, or until the signal', async () => {
    const { queue, clock } = await started({}, never);
    const ticket = await queue.submit({ to: 'a' });
    const late = failureOf(ticket.result({ timeoutMs: 50 }));
    const controller = new AbortController();
    const aborted = failureOf(ticket.result({ signal: controller.signal }));
    await clock.advanceAsync(50);
    expect(await late).toBeInstanceOf(ResultTimeoutError);
    controller.abort(new Error('enough'));
    expect(await aborted).toEqual(new Error('enough'));
    expect(clock.pending).toBe(0);
    await expect(ticket.result({ signal: controller.signal })).rejects.toThrow('enough');
    await expect(ticket.result({ timeoutMs: -1 })).rejects.toThrow(/timeoutMs -1/);
  });

  it('cancel what has not started; those behind move up', async () => {
    const { queue, clock, starts } = await started();
    const tickets = await queue.submitMany(names(5).map((data) => ({ data })));
    const result = failureOf(tickets[2].result());
    expect(await tickets[0].cancel()).toBe(false);
    expect(await tickets[2].cancel()).toBe(true);
    expect(await tickets[2].cancel()).toBe(false);
    expect(await result).toBeInstanceOf(JobCancelledError);
    await clock.advanceAsync(200);
    expect(starts).toEqual([
      ['0', 0],
      ['1', 0],
      ['3', 100],
      ['4', 200],
    ]);
  });

  it('give back what a job had paid that no worker took', async () => {
    const { queue, work, starts } = working();
    const [first] = await queue.submitMany(names(3).map((data) => ({ data })));
    expect(await queue.status(first.id)).toMatchObject({ state: 'waiting', position: 0 });
    await first.cancel();
    await work();
    expect(starts.map(([to]) => to)).toEqual(['1', '2']);
  });

  it('tell where a job is', async () => {
    let end: (value: string) => void = () => undefined;
    const { queue, clock, epochMs } = await started(
      { capacity: 1, resultTtlMs: 1000 },
      () => new Promise((resolve) => (end = resolve as typeof end)),
    );
    const [first, second] = await queue.submitMany(names(2).map((data) => ({ data })));
    expect(await queue.status(first.id)).toEqual({ state: 'active' });
    expect(await queue.status(second.id)).toEqual({
      state: 'waiting',
      startsAt: epochMs + 100,
      startsInMs: 100,
      position: 1,
    });
    end('ok');
    await first.result();
    expect(await queue.status(first.id)).toEqual({ state: 'completed', value: 'ok' });
    clock.advance(1000);
    expect(await queue.status(first.id)).toBeUndefined();
    expect(await queue.status('unknown')).toBeUndefined();
    await expect(queue.ticket('unknown').result()).rejects.toThrow(JobCancelledError);
  });
});

describe('submitting to the in-process queue', () => {
  it('is idempotent by key', async () => {
    const { queue, clock, opened } = await started({ capacity: 1, resultTtlMs: 500 });
    await queue.submit({ to: 'first' });
    const ticket = await queue.submit({ to: 'a' }, { idempotencyKey: 'k' });
    const again = await queue.submit({ to: 'a' }, { idempotencyKey: 'k' });
    expect([ticket.known, again.known, again.id]).toEqual([false, true, ticket.id]);
    expect([again.position, again.startsAt]).toEqual([1, ticket.startsAt]);
    expect((await queue.counts()).waiting).toBe(1);
    await expect(queue.submit({ to: 'b' }, { idempotencyKey: 'k' })).rejects.toThrow(
      IdempotencyConflictError,
    );
    expect(await queue.knows(opened.lanes.ofKey('all'), 'k')).toBe(true);
    await clock.advanceAsync(100 + 500);
    expect(await queue.knows(opened.lanes.ofKey('all'), 'k')).toBe(false);
    expect((await queue.submit({ to: 'b' }, { idempotencyKey: 'k' })).known).toBe(false);
  });

  const circle: Record<string, unknown> = {};
  circle.self = circle;
  it.each([
    ['a cost of 0', {}, { cost: 0 }, InvalidCostError, /queue mails: cost 0/],
    ['a cost above the capacity', {}, { cost: 3 }, CostExceedsCapacityError, /capacity 2/],
    ['a negative wait', {}, { maxWaitMs: -1 }, InvalidLimitError, /maxWaitMs -1/],
    ['a broken wait', {}, { maxWaitMs: 0.5 }, InvalidLimitError, /maxWaitMs 0.5/],
    ['an empty idempotency key', {}, { idempotencyKey: '' }, MissingKeyError, /idempotencyKey ""/],
    ['a delay', {}, { job: { delay: 1 } }, UnsupportedOperationError, /job.delay/],
    ['a job of NaN', {}, { job: { attempts: NaN } }, InvalidLimitError, /attempts is NaN/],
    ['no options', {}, null as never, InvalidLimitError, /submit: null is not a set/],
    ['a circle', circle, {}, InvalidLimitError, /cannot be written as JSON/],
    ['nothing', undefined, {}, InvalidLimitError, /cannot be written as JSON/],
  ])('refuses %s, and enqueues nothing', async (_, data, options, type, message) => {
    const { queue } = await started();
    const submitted = queue.submit(data as never, options);
    await expect(submitted).rejects.toThrow(type);
    await expect(submitted).rejects.toThrow(message);
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, completed: 0, failed: 0 });
  });

  it('refuses what is no list, no id and no signal', async () => {
    const { queue } = await started();
    const none = null as never;
    await expect(queue.submitMany(none)).rejects.toThrow(/submitMany: null is not a list/);
    await expect(queue.submitMany([none])).rejects.toThrow(/item: null is not a set/);
    await expect(queue.status(none)).rejects.toThrow(/null is not the id of a job/);
    const ticket = await queue.submit({ to: 'a' });
    await expect(ticket.result({ signal: none })).rejects.toThrow(/result: signal null/);
  });

  it('refuses options of a queue as the real one does', () => {
    expect(() => working({ maxqueue: 1 } as never)).toThrow(/option "maxqueue" is unknown/);
    expect(() => working({ rate: 0 })).toThrow(/queue mails: rate 0/);
    expect(() => working({ worker: { concurrency: 0 } })).toThrow(/worker.concurrency 0/);
  });

  it('misses a key that is not there, and needs numbers', async () => {
    const keyed = await started({ key: ({ to }) => to });
    await expect(keyed.queue.submit({} as Mail)).rejects.toThrow(MissingKeyError);
    const bare = await started({ rate: undefined, capacity: undefined });
    await expect(bare.queue.submit({ to: 'a' })).rejects.toThrow(/only deferTo can submit/);
  });

  it('stops at the first of many that fails', async () => {
    const { queue } = await started({ maxQueue: 1 });
    const many = queue.submitMany(names(5).map((data) => ({ data })));
    await expect(many).rejects.toThrow(QueueFullError);
    expect((await queue.counts()).waiting).toBe(1);
  });

  it('may be done by a processor', async () => {
    const { queue, clock, starts } = await started({}, ({ data }) =>
      data.to === '0'
        ? queue.submitMany(names(2).map(({ to }) => ({ data: { to: `+${to}` } })))
        : 1,
    );
    await queue.submit({ to: '0' });
    await clock.advanceAsync(100);
    expect(starts).toEqual([
      ['0', 0],
      ['+0', 0],
      ['+1', 100],
    ]);
  });
});

describe('jobs of the in-process queue', () => {
  it('are tried again after their back-off, and pay for it', async () => {
    const seen: unknown[] = [];
    const { queue, clock, starts } = await started({ capacity: 1 }, (job) => {
      seen.push([job.attemptsMade, job.attemptsStarted]);
      if (job.attemptsMade < 3) throw new Error(`no ${job.attemptsMade}`);
      return 'at last';
    });
    const job = { attempts: 4, backoff: { type: 'exponential', delay: 150 } };
    const ticket = await queue.submit({ to: 'a' }, { job });
    await queue.submit({ to: 'b' }, { job: { attempts: 1 } });
    await clock.advanceAsync(0);
    expect(await queue.status(ticket.id)).toEqual({ state: 'waiting' });
    await clock.advanceAsync(2000);
    // a at 0; b at 100; a again 150 ms after it failed, when b's token is back at 200; then after 300 and 600 ms.
    expect(starts).toEqual([
      ['a', 0],
      ['b', 100],
      ['a', 200],
      ['a', 500],
      ['a', 1100],
    ]);
    expect(seen.filter((_, i) => i !== 1)).toEqual([
      [0, 1],
      [1, 2],
      [2, 3],
      [3, 4],
    ]);
    expect(await ticket.result()).toBe('at last');
  });

  it.each([
    [{ attempts: 2, backoff: 30 }, 30],
    [{ attempts: 2, backoff: { type: 'fixed', delay: 40 } }, 40],
    [{ attempts: 2, backoff: { type: 'mine' } }, 77],
    [{ attempts: 2 }, 0],
  ])('rest by %j', async (job, atMs) => {
    const { queue, clock, starts } = await started(
      { worker: { settings: { backoffStrategy: () => 77 } } },
      () => Promise.reject(new Error('no')),
    );
    const ticket = await queue.submit({ to: 'a' }, { job });
    const result = failureOf(ticket.result());
    await clock.advanceAsync(100);
    expect(await result).toBeInstanceOf(JobFailedError);
    expect(starts).toEqual([
      ['a', 0],
      ['a', atMs],
    ]);
    expect(await ticket.ending()).toEqual({ state: 'failed', reason: 'no' });
  });

  it('fail for good when told so, or when nobody knows how long to rest', async () => {
    const { queue, starts } = await started({ job: { attempts: 5 } }, ({ data }) => {
      throw Object.assign(new Error(data.to), {
        name: data.to === 'a' ? 'UnrecoverableError' : 'X',
      });
    });
    const first = await queue.submit({ to: 'a' });
    await expect(first.result()).rejects.toThrow(/failed: a/);
    const second = await queue.submit({ to: 'b' }, { job: { backoff: { type: 'odd' } } });
    await expect(second.result()).rejects.toThrow(/Unknown backoff strategy odd/);
    expect(starts.length).toBe(2);
  });

  it('pause their key with RetryKeyLater, burn no attempt, and move nobody else', async () => {
    let asked = 0;
    const { queue, clock, starts } = await started(
      { key: ({ to }) => to.slice(0, 1) },
      ({ data, attemptsMade }) => {
        if (data.to === 'a0' && asked++ === 0) throw new RetryKeyLater(500);
        return attemptsMade;
      },
    );
    const tickets = await queue.submitMany(
      ['a0', 'a1', 'a2', 'b0'].map((to) => ({ data: { to } })),
    );
    await clock.advanceAsync(1000);
    expect(starts).toEqual([
      ['a0', 0],
      ['a1', 0],
      ['b0', 0],
      ['a0', 500],
      ['a2', 500],
    ]);
    expect(await tickets[0].result()).toBe(0);
  });

  it('keep the progress, the log and the times that they tell', async () => {
    let seen: InProcessJob<Mail> | undefined;
    const { queue, epochMs } = await started({}, async (job) => {
      seen = job;
      await job.updateProgress(50);
      await job.updateData({ to: 'elsewhere' });
      return job.log('half way');
    });
    const ticket = await queue.submit({ to: 'a' }, { job: { attempts: 3 } });
    expect(await ticket.result()).toBe(1);
    expect(seen).toMatchObject({
      id: ticket.id,
      name: 'mails',
      queueName: 'mails',
      data: { to: 'elsewhere' },
      opts: { attempts: 3 },
      progress: 50,
      logs: ['half way'],
      timestamp: epochMs,
      processedOn: epochMs,
      finishedOn: epochMs,
      returnvalue: 1,
    });
  });
});

describe('the in-process queue as a whole', () => {
  it('pauses and resumes; a deadline passes all the same', async () => {
    const { queue, clock, starts } = await started();
    await queue.pause();
    const ticket = await queue.submit({ to: 'a' }, { maxWaitMs: 100 });
    await queue.submit({ to: 'b' });
    const result = failureOf(ticket.result());
    await clock.advanceAsync(1000);
    expect(await result).toBeInstanceOf(JobExpiredError);
    expect(starts).toEqual([]);
    await queue.resume();
    expect(starts).toEqual([['b', 1000]]);
  });

  it('pauses one key, and ends its pause', async () => {
    const { queue, clock, starts } = await started({ key: ({ to }) => to });
    await queue.pauseKey('a', 300);
    await queue.pauseKey('b', 300);
    const ticket = await queue.submit({ to: 'a' });
    expect(ticket.startsInMs).toBe(300);
    for (const to of ['b', 'c']) await queue.submit({ to });
    await queue.pauseKey('b', 0);
    await clock.advanceAsync(300);
    expect(starts).toEqual([
      ['c', 0],
      ['b', 0],
      ['a', 300],
    ]);
    await expect(queue.pauseKey('a', -1)).rejects.toThrow(/ms -1/);
  });

  it('is drained of all that has not started', async () => {
    const { queue, clock, starts } = await started({}, ({ data }) =>
      data.to === '0' ? Promise.reject(new Error('later')) : 1,
    );
    const job = { attempts: 2, backoff: 1000 };
    const tickets = await queue.submitMany(names(5).map((data) => ({ data, job })));
    await clock.advanceAsync(0);
    const result = failureOf(tickets[4].result());
    await queue.drain();
    expect(await result).toBeInstanceOf(JobCancelledError);
    expect(await queue.status(tickets[4].id)).toBeUndefined();
    await clock.advanceAsync(5000);
    expect(starts.length).toBe(2);
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, completed: 1, failed: 0 });
  });

  it('lets running jobs end when it closes, and takes no more', async () => {
    const { queue, clock, opened } = await started({}, async () => {
      for (let i = 0; i < 10; i++) await Promise.resolve();
      return 'ended';
    });
    const [running, , waiting] = await queue.submitMany(names(3).map((data) => ({ data })));
    const cut = failureOf(waiting.result());
    const ended = running.result();
    await queue.close();
    await queue.close();
    await opened.stopWorking();
    expect(await cut).toBeInstanceOf(LimiterClosedError);
    expect(await ended).toBe('ended');
    await expect(queue.submit({ to: 'a' })).rejects.toThrow(LimiterClosedError);
    await expect(running.result()).rejects.toThrow(LimiterClosedError);
    expect(clock.pending).toBe(0);
  });

  it('tells jobs that do not end by their signal', async () => {
    let told: unknown;
    const { queue } = await started(
      {},
      (_, { signal }) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve((told = signal.reason))),
        ),
    );
    await queue.submit({ to: 'a' });
    await queue.close();
    expect(told).toEqual(new Error('the application is closing'));
  });

  it('has no queue of BullMQ', async () => {
    const { queue } = await started();
    expect(() => queue.bullQueue).toThrow(UnsupportedOperationError);
  });

  it('has the face of the real queue', () => {
    const { queue } = working();
    // The compiler judges: what takes the one takes the other.
    const real: Pick<RateLimitedQueue<Mail, string>, Exclude<Face, 'submitTo' | 'knows'>> = queue;
    const keys: Exclude<Face, keyof InProcessQueue>[] = [];
    expect([real.name, keys]).toEqual(['mails', []]);
  });
});

type Face = keyof RateLimitedQueue;
