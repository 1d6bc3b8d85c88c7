// Costs and cancelling in the queued limiter.
import { setTimeout as delay } from 'node:timers/promises';
import { excessCredits } from '../support/queue-envelope';
import { LocalQueue } from '../support/queue-local';

let local: LocalQueue;
afterEach(() => local.close());

const PATIENT = { maxWaitMs: 10_000_000_000 };

describe('costs', () => {
  it('a job that costs three starts three tokens after the one before it', async () => {
    local = await LocalQueue.start({ rate: 10, capacity: 3 });
    const { queue } = local;
    const tickets = await queue.submitMany([
      { data: 'all', cost: 3 },
      { data: 'half', cost: 0.5 },
      { data: 'three', cost: 3 },
    ]);
    await Promise.all(tickets.map((ticket) => ticket.result()));
    expect(local.ran).toEqual(['all', 'half', 'three']);
    const charges = local.charges(tickets);
    expect(charges.map(({ cost }) => cost)).toEqual([3000, 500, 3000]);
    expect(excessCredits(charges, local.envelope)).toBeLessThanOrEqual(0);
    expect(tickets.map(({ position }) => position)).toEqual([0, 1, 2]);
    expect(tickets[2].startsAt - tickets[1].startsAt).toBeCloseTo(300, -1);
  });

  it('a large job at the head is not starved by small ones behind it', async () => {
    local = await LocalQueue.start({ rate: 20, capacity: 5 });
    const { queue } = local;
    await queue.submit('burst', { cost: 5 });
    const large = await queue.submit('large', { cost: 5 });
    const small = Array.from({ length: 10 }, async (_, i) => {
      await delay(25 * i);
      return queue.submit(i);
    });
    await large.result({ timeoutMs: 2000 });
    expect(local.ran).toEqual(['burst', 'large']);
    await Promise.all(small);
  });

  it.each([0, -1, NaN, Infinity, '1'])('refuses the cost %p', async (cost) => {
    local = await LocalQueue.start({ rate: 1, capacity: 5, submitOnly: true });
    await expect(local.queue.submit('x', { cost: cost as number })).rejects.toMatchObject({
      code: 'RATE_LIMIT_INVALID_COST',
      message: expect.stringContaining(`queue ${local.queue.name}: cost`),
    });
    expect(await local.queue.counts()).toMatchObject({ waiting: 0 });
  });

  it('refuses a cost above the capacity, and takes one equal to it', async () => {
    local = await LocalQueue.start({ rate: 1, capacity: 5 });
    await expect(local.queue.submit('x', { cost: 6 })).rejects.toMatchObject({
      code: 'RATE_LIMIT_COST_EXCEEDS_CAPACITY',
      message: expect.stringContaining('cost 6 is more than the capacity 5'),
    });
    expect((await local.queue.submit('y', { cost: 5 })).position).toBe(0);
  });
});

describe('cancel', () => {
  it('a waiting job never runs, and those behind it start as if it had never been', async () => {
    local = await LocalQueue.start({ rate: 1, capacity: 1 });
    const { queue } = local;
    const [first, second, third] = await queue.submitMany([{ data: 1 }, { data: 2 }, { data: 3 }]);
    expect(await second.cancel()).toBe(true);
    await expect(second.result()).rejects.toMatchObject({ code: 'RATE_LIMIT_JOB_CANCELLED' });
    await third.result();
    expect(local.ran).toEqual([1, 3]);
    const charges = local.charges([first, third]);
    expect(excessCredits(charges, local.envelope)).toBeLessThanOrEqual(0);
    // A second after the first, not two.
    expect(charges[1].atUs - charges[0].atUs).toBeLessThan(1_900_000);
    expect(await second.cancel()).toBe(false);
    expect(await second.ending()).toEqual({ state: 'cancelled' });
    expect(await queue.bullQueue.getJob(second.id)).toBeUndefined();
  });

  it('a granted job that no worker took yet gives its token back', async () => {
    local = await LocalQueue.start({ rate: 0.001, capacity: 1 });
    const { queue } = local;
    await queue.pause();
    const granted = await queue.submit('granted');
    expect(granted.position).toBe(0);
    expect(await granted.cancel()).toBe(true);
    const next = await queue.submit('next');
    expect(next.position).toBe(0);
    await queue.resume();
    await next.result();
    expect(local.ran).toEqual(['next']);
  });

  it('a running or ended job: false, and nothing changes', async () => {
    local = await LocalQueue.start({ rate: 10, capacity: 1 }, async () => {
      await delay(200);
      return 'done';
    });
    const ticket = await local.queue.submit('x');
    while (local.runs.length === 0) await delay(5);
    expect(await ticket.cancel()).toBe(false);
    expect(await ticket.result()).toBe('done');
    expect(await ticket.cancel()).toBe(false);
    expect(await ticket.result()).toBe('done');
  });

  it('from another instance, by the id alone; an unknown id: false', async () => {
    local = await LocalQueue.start({ rate: 0.001, capacity: 1 });
    const { queue } = local;
    await queue.submit('first');
    const ticket = await queue.submit('second', PATIENT);
    const other = local.instance();
    expect(await other.ticket(ticket.id).cancel()).toBe(true);
    expect(await other.ticket('0'.repeat(32)).cancel()).toBe(false);
  });

  it('races with the start: each job either ran or was cancelled, and no token is lost or made', async () => {
    local = await LocalQueue.start({ rate: 200, capacity: 20, job: { attempts: 2 } });
    const { queue } = local;
    const jobs = 300;
    const cancelled = await Promise.all(
      Array.from({ length: jobs }, async (_, n) => {
        const ticket = await queue.submit(n);
        await delay((n * 7) % 50);
        const gone = await ticket.cancel();
        const ended = await ticket.result({ timeoutMs: 10_000 }).then(
          () => 'ran',
          (error: { code: string }) => error.code,
        );
        expect(ended).toBe(gone ? 'RATE_LIMIT_JOB_CANCELLED' : 'ran');
        return gone ? [n] : [];
      }),
    );
    const gone = new Set(cancelled.flat());
    expect(gone.size).toBeGreaterThan(0);
    expect(local.ran.filter((n) => gone.has(n as number))).toEqual([]);
    expect(local.ran.length + gone.size).toBe(jobs);
    // Workers that had one in hand when it was cancelled put it down a moment later.
    await delay(200);
    expect(await queue.counts()).toMatchObject({ waiting: 0, active: 0 });
  });
});
