// Concurrency limits over processes and a real Redis: one of them is killed, a lease is shorter than the work, a
// release comes late.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { ConcurrencyExceededError, RateLimiterService, RateLimitModule } from 'nest-rate-limit';
import { ConcurrencyProcess, inFlight } from '../support/concurrency-fleet';
import { buildApp, closeApps } from '../support/nest-app';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

jest.setTimeout(30_000);

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterEach(closeApps);
afterAll(() => redis.disconnect());

describe('20 at once over three processes', () => {
  const MAX = 20;
  const HELD = 8;
  const LEASE_MS = 1500;
  const processes: ConcurrencyProcess[] = [];

  afterEach(async () => {
    await Promise.all(processes.map((process) => process.kill()));
  });

  it('never more, also when one is killed, and 20 again within the lease', async () => {
    const keyPrefix = uniquePrefix();
    const load = { redis: sharedRedisUrl(), keyPrefix, max: MAX, leaseMs: LEASE_MS };
    // Its calls last much longer than a lease: it holds its slots by telling so.
    const victim = new ConcurrencyProcess({ ...load, callers: HELD, callMs: [60_000, 60_000] });
    processes.push(victim);
    while (victim.events.length < HELD) await delay(10);
    const others = [1, 2].map(
      () => new ConcurrencyProcess({ ...load, callers: MAX, callMs: [20, 120] }),
    );
    processes.push(...others);
    await delay(2.5 * LEASE_MS);
    const killedAtMs = await victim.kill();
    await delay(2 * LEASE_MS);
    await Promise.all(others.map((process) => process.kill()));

    const history = inFlight(processes);
    const counts = (from: number, to: number) =>
      history.filter(({ atMs }) => atMs > from && atMs < to).map(({ count }) => count);
    // The slots of the dead are not given away before their leases end: the last word was at most a third ago.
    const stillLeased = counts(killedAtMs, killedAtMs + LEASE_MS / 2);
    const backAtMs = history.find(({ atMs, count }) => atMs > killedAtMs && count === MAX)?.atMs;

    expect(Math.max(...history.map(({ count }) => count))).toBe(MAX);
    expect(Math.max(...counts(0, killedAtMs))).toBe(MAX);
    expect(stillLeased.length).toBeGreaterThan(20);
    expect(Math.max(...stillLeased)).toBe(MAX - HELD);
    expect((backAtMs as number) - killedAtMs).toBeLessThanOrEqual(LEASE_MS);
    expect(processes.flatMap(({ events }) => events).filter(({ kind }) => kind === 'told')).toEqual(
      [],
    );
  });
});

describe('withConcurrency', () => {
  async function service(keyPrefix = uniquePrefix()): Promise<RateLimiterService> {
    const app = await buildApp({
      imports: [RateLimitModule.forRoot({ redis: sharedRedisUrl(), keyPrefix })],
    });
    return app.get(RateLimiterService);
  }

  it('work of 3 s under a lease of 1 s: nobody else gets in, on any instance', async () => {
    const keyPrefix = uniquePrefix();
    const [one, other] = [await service(keyPrefix), await service(keyPrefix)];
    let isDone = false;
    const work = one.withConcurrency('k', { max: 1, leaseMs: 1000 }, async (signal) => {
      await delay(3000);
      isDone = true;
      return signal.aborted;
    });
    await delay(20);
    let [refused, entered] = [0, 0];
    while (!isDone) {
      await other
        .withConcurrency('k', { max: 1, leaseMs: 1000 }, () => entered++)
        .catch((error: unknown) => {
          if (!ConcurrencyExceededError.is(error)) throw error;
          refused++;
        });
      await delay(20);
    }
    expect(await work).toBe(false);
    expect(entered).toBe(0);
    expect(refused).toBeGreaterThan(50);
    expect(await other.withConcurrency('k', { max: 1 }, () => 'in')).toBe('in');
  });

  it('a slot that the store forgot and gave away: the holder is told, and frees nothing when it ends', async () => {
    const keyPrefix = uniquePrefix();
    const [one, other] = [await service(keyPrefix), await service(keyPrefix)];
    const options = { max: 1, leaseMs: 600 };
    const told = one.withConcurrency(
      'k',
      options,
      (signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve((signal.reason as Error).name));
        }),
    );
    await delay(50);
    const [key] = await redis.keys(`${keyPrefix}*`);
    await redis.del(key);
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const second = other.withConcurrency('k', options, () => ended);
    expect(await told).toBe('LeaseLostError');
    // The first has released by now; the slot is the second's all the same.
    await expect(one.withConcurrency('k', options, () => 'in')).rejects.toThrow('in flight');
    end();
    await second;
    expect(await one.withConcurrency('k', options, () => 'in')).toBe('in');
  });

  it('leaves nothing in Redis', async () => {
    const keyPrefix = uniquePrefix();
    const limiter = await service(keyPrefix);
    const keys = await limiter.withConcurrency('k', { max: 5, name: 'exports' }, () =>
      redis.keys(`${keyPrefix}*`),
    );
    expect(keys.map((key) => key.replace(/.*\}/, ''))).toEqual([':+exports:app:k']);
    expect(await redis.keys(`${keyPrefix}*`)).toEqual([]);
  });

  it('100 at once on one key run in no more than 5 at a time, and refusals run nothing', async () => {
    const keyPrefix = uniquePrefix();
    const services = [await service(keyPrefix), await service(keyPrefix)];
    let [running, most, ran] = [0, 0, 0];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, i) =>
        services[i % 2].withConcurrency('k', { max: 5 }, async () => {
          most = Math.max(most, ++running);
          await delay(100);
          running--;
          ran++;
        }),
      ),
    );
    const refused = outcomes.filter(({ status }) => status === 'rejected').length;
    expect([most, ran, refused]).toEqual([5, 5, 95]);
  });
});
