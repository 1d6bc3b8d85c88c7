// Idempotent submissions, and keys of any characters, in the queued limiter.
import { setTimeout as delay } from 'node:timers/promises';
import { LocalQueue } from '../support/queue-local';

let local: LocalQueue;
afterEach(() => local.close());

const PATIENT = { maxWaitMs: 10_000_000_000 };

describe('idempotencyKey', () => {
  it('50 concurrent submissions of one key, from two instances: one job, one place, one id', async () => {
    local = await LocalQueue.start({ rate: 0.001, capacity: 1, maxQueue: 1 });
    const { queue } = local;
    await (await queue.submit('first')).result();
    const other = local.instance();
    const tickets = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        (i % 2 ? other : queue).submit({ a: 1 }, { idempotencyKey: 'order-1', ...PATIENT }),
      ),
    );
    expect(new Set(tickets.map(({ id }) => id)).size).toBe(1);
    expect(tickets.filter(({ known }) => !known)).toHaveLength(1);
    expect(new Set(tickets.map(({ position }) => position))).toEqual(new Set([1]));
    const starts = tickets.map(({ startsAt }) => startsAt);
    expect(Math.max(...starts) - Math.min(...starts)).toBeLessThanOrEqual(1);
    expect(await queue.bullQueue.getJobCounts('delayed')).toEqual({ delayed: 1 });
  });

  it('another payload under it is a conflict, and changes nothing', async () => {
    local = await LocalQueue.start({ rate: 1, capacity: 1 });
    const { queue } = local;
    const ticket = await queue.submit({ a: 1 }, { idempotencyKey: 'k' });
    await expect(queue.submit({ a: 2 }, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'RATE_LIMIT_IDEMPOTENCY_CONFLICT',
      httpStatus: 409,
    });
    expect(await ticket.result()).toEqual({ did: { a: 1 } });
    expect(local.ran).toEqual([{ a: 1 }]);
  });

  it('after the job has ended it still is the same one, with its result; also when BullMQ forgot it', async () => {
    local = await LocalQueue.start({ rate: 50, capacity: 5, job: { removeOnComplete: true } });
    const { queue } = local;
    const first = await queue.submit('x', { idempotencyKey: 'k' });
    await first.result();
    const again = await queue.submit('x', { idempotencyKey: 'k' });
    expect(again).toMatchObject({ id: first.id, known: true, position: 0 });
    expect(await again.result()).toEqual({ did: 'x' });
    await delay(100);
    expect(local.ran).toEqual(['x']);
  });

  it('until its result is forgotten: then it is a new job', async () => {
    local = await LocalQueue.start({ rate: 50, capacity: 5, resultTtlMs: 200 });
    const { queue } = local;
    const first = await queue.submit('x', { idempotencyKey: 'k' });
    await first.result();
    await delay(400);
    const again = await queue.submit('x', { idempotencyKey: 'k' });
    expect(again.known).toBe(false);
    await again.result();
    expect(local.ran).toEqual(['x', 'x']);
  });

  it('belongs to a line: the same key of another customer is another job', async () => {
    local = await LocalQueue.start({ keyed: true, rate: 50, capacity: 5 });
    const { queue } = local;
    const a = await queue.submit({ key: 'a' }, { idempotencyKey: 'k' });
    const b = await queue.submit({ key: 'b' }, { idempotencyKey: 'k' });
    expect(a.id).not.toBe(b.id);
    expect(b.known).toBe(false);
  });

  it('a submission that died on the way to BullMQ is made whole by its repetition', async () => {
    local = await LocalQueue.start({ rate: 50, capacity: 1, timeoutMs: 600_000 });
    const { queue } = local;
    await queue.submit('first');
    const dead = local.instance();
    dead.bullQueue.add = () => new Promise(() => undefined);
    void dead.submit('x', { idempotencyKey: 'k' }).catch(() => undefined);
    await delay(50);
    const ticket = await queue.submit('x', { idempotencyKey: 'k' });
    expect(await ticket.result({ timeoutMs: 3000 })).toEqual({ did: 'x' });
  });

  it('a submission that failed frees its key', async () => {
    local = await LocalQueue.start({ rate: 50, capacity: 5 });
    const { queue } = local;
    const add = queue.bullQueue.add.bind(queue.bullQueue);
    queue.bullQueue.add = () => Promise.reject(new Error('Connection is closed.'));
    await expect(queue.submit('x', { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'RATE_LIMIT_STORE_UNAVAILABLE',
    });
    queue.bullQueue.add = add;
    await delay(100);
    const ticket = await queue.submit('x', { idempotencyKey: 'k' });
    expect(ticket.known).toBe(false);
    expect(await ticket.result()).toEqual({ did: 'x' });
  });

  it.each([[''], [7], [{}]])('refuses the key %p', async (idempotencyKey) => {
    local = await LocalQueue.start({ rate: 50, capacity: 5, submitOnly: true });
    await expect(
      local.queue.submit('x', { idempotencyKey: idempotencyKey as string }),
    ).rejects.toMatchObject({ code: 'RATE_LIMIT_MISSING_KEY' });
  });
});

describe('keys of any characters', () => {
  const KEYS = [
    '',
    '123',
    'a:b',
    '2001:db8::1',
    '{tag}',
    '|',
    ' ',
    '\n\0',
    '🦆',
    '\ud800',
    '\ud801',
    '~x',
    '__proto__',
    'x'.repeat(1_000_000),
  ];

  it('each is a line of its own, for lines and for idempotency', async () => {
    local = await LocalQueue.start({ rate: 0.001, capacity: 1 });
    const { queue } = local;
    const first = await Promise.all(KEYS.map((key, i) => queue.submit(i, { key })));
    expect(first.map(({ position }) => position)).toEqual(KEYS.map(() => 0));
    await Promise.all(first.map((ticket) => ticket.result()));
    expect(new Set(local.ran)).toEqual(new Set(KEYS.keys()));
    expect(local.ran).toHaveLength(KEYS.length);
    const second = await Promise.all(KEYS.map((key, i) => queue.submit(i, { key, ...PATIENT })));
    expect(second.map(({ position }) => position)).toEqual(KEYS.map(() => 1));

    const named = KEYS.filter((key) => key !== '');
    const submitAll = () =>
      Promise.all(
        named.map((idempotencyKey) => queue.submit('n', { key: 'n', idempotencyKey, ...PATIENT })),
      );
    const ids = (await submitAll()).map(({ id }) => id);
    expect(new Set(ids).size).toBe(named.length);
    expect((await submitAll()).map(({ id }) => id)).toEqual(ids);
  }, 20_000);

  it('two calls of one key and one payload are two jobs', async () => {
    local = await LocalQueue.start({ rate: 50, capacity: 5 });
    const tickets = await local.queue.submitMany([
      { data: 'same', key: 'a:b' },
      { data: 'same', key: 'a:b' },
    ]);
    expect(tickets[0].id).not.toBe(tickets[1].id);
    await Promise.all(tickets.map((ticket) => ticket.result()));
    expect(local.ran).toEqual(['same', 'same']);
  });
});
