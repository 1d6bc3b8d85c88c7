// Waiting for results of the queued limiter.
import { setTimeout as delay } from 'node:timers/promises';
import { LocalQueue } from '../support/queue-local';

let local: LocalQueue;
afterEach(() => local.close());

describe('ticket.result', () => {
  it.each([
    ['kept by BullMQ', undefined],
    ['removed at once', { removeOnComplete: true, removeOnFail: true }],
  ])('before and after the end, from any instance: jobs %s', async (_, job) => {
    local = await LocalQueue.start({ rate: 50, capacity: 5, job }, async ({ data }) => {
      await delay(50);
      if (data === 'bad') throw new Error('no such mailbox');
      return { sent: data as unknown };
    });
    const { queue } = local;
    const other = local.instance();
    const good = await queue.submit('good');
    const bad = await queue.submit('bad');
    const during = [good.result(), other.ticket(good.id).result()];
    expect(await Promise.all(during)).toEqual([{ sent: 'good' }, { sent: 'good' }]);
    const failure = { code: 'RATE_LIMIT_JOB_FAILED', message: expect.stringMatching(/mailbox/) };
    await expect(bad.result()).rejects.toMatchObject(failure);
    expect(await other.ticket(good.id).result()).toEqual({ sent: 'good' });
    await expect(other.ticket(bad.id).result()).rejects.toMatchObject(failure);
    expect(await queue.counts()).toMatchObject({ waiting: 0, active: 0 });
  });

  it('BullMQ has the job as ended when its result is told', async () => {
    local = await LocalQueue.start({ rate: 1000, capacity: 100 });
    const { queue } = local;
    for (let i = 0; i < 30; i++) {
      await (await queue.submit(i)).result();
      expect(await queue.counts()).toMatchObject({ active: 0, completed: i + 1 });
    }
  });

  it.each([undefined, null, 0, '', false, { a: [1] }, 'ä💥'])('hands %p back', async (value) => {
    local = await LocalQueue.start({ rate: 50, capacity: 5 }, () => value);
    const result = await (await local.queue.submit('x')).result();
    expect(result).toEqual(value);
  });

  it('times out at the given time, and the job goes on', async () => {
    local = await LocalQueue.start({ rate: 50, capacity: 5 }, () => delay(600, 'late'));
    const ticket = await local.queue.submit('x');
    const fromMs = performance.now();
    await expect(ticket.result({ timeoutMs: 200 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_RESULT_TIMEOUT',
    });
    const tookMs = performance.now() - fromMs;
    expect(tookMs).toBeGreaterThan(190);
    expect(tookMs).toBeLessThan(590);
    expect(await ticket.result()).toBe('late');
    await expect(ticket.result({ timeoutMs: -1 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_INVALID_LIMIT',
    });
  });

  it('ends with the reason of its signal, before and during the wait', async () => {
    local = await LocalQueue.start({ rate: 50, capacity: 5 }, () => delay(500));
    const ticket = await local.queue.submit('x');
    const abort = new AbortController();
    const waiting = ticket.result({ signal: abort.signal });
    abort.abort(new Error('gave up'));
    await expect(waiting).rejects.toThrow('gave up');
    await expect(ticket.result({ signal: abort.signal })).rejects.toThrow('gave up');
    await ticket.result();
  });

  it('an error of the last attempt only; a retried one is none', async () => {
    local = await LocalQueue.start(
      { rate: 50, capacity: 5, job: { attempts: 2 } },
      ({ attemptsMade }) => {
        if (attemptsMade === 0) throw new Error('first');
        return 'second';
      },
    );
    expect(await (await local.queue.submit('x')).result()).toBe('second');
  });

  it('500 concurrent waits on 500 jobs: no warning, and no listener stays', async () => {
    local = await LocalQueue.start({ rate: 1000, capacity: 200, worker: { concurrency: 50 } });
    const { queue } = local;
    const warnings: Error[] = [];
    const warned = (warning: Error) => warnings.push(warning);
    process.on('warning', warned);
    const abort = new AbortController();
    const bull = queue.bullQueue;
    const before = bull.eventNames().map((name) => [name, bull.listenerCount(name)]);
    const tickets = await queue.submitMany(Array.from({ length: 500 }, (_, n) => ({ data: n })));
    const results = await Promise.allSettled(
      tickets.map((ticket, i) =>
        ticket.result({ signal: abort.signal, timeoutMs: i % 2 ? 20_000 : 100 }),
      ),
    );
    await Promise.all(tickets.map((ticket) => ticket.result()));
    await delay(50);
    process.off('warning', warned);
    expect(warnings).toEqual([]);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(
      250,
    );
    expect(bull.eventNames().map((name) => [name, bull.listenerCount(name)])).toEqual(before);
  }, 30_000);

  it('30 queues on one Redis: no warning', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => warnings.push(warning);
    process.on('warning', warned);
    local = await LocalQueue.start({ rate: 50, capacity: 5 });
    const others = await Promise.all(
      Array.from({ length: 30 }, () => LocalQueue.start({ rate: 50, capacity: 5 })),
    );
    await Promise.all(others.map(async ({ queue }) => (await queue.submit('x')).result()));
    await Promise.all(others.map((other) => other.close()));
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  }, 30_000);

  it('waits end when the queue is closed, and later ones do not begin', async () => {
    local = await LocalQueue.start({ rate: 0.001, capacity: 1 });
    await local.queue.submit('first');
    const ticket = await local.queue.submit('x', { maxWaitMs: 10_000_000_000 });
    const waiting = ticket.result();
    await Promise.all([
      expect(waiting).rejects.toMatchObject({ code: 'RATE_LIMIT_LIMITER_CLOSED' }),
      local.close(),
    ]);
    await expect(ticket.result()).rejects.toMatchObject({ code: 'RATE_LIMIT_LIMITER_CLOSED' });
    await expect(local.queue.submit('y')).rejects.toMatchObject({
      code: 'RATE_LIMIT_LIMITER_CLOSED',
    });
    await expect(local.queue.counts()).rejects.toMatchObject({ code: 'RATE_LIMIT_LIMITER_CLOSED' });
  });
});
