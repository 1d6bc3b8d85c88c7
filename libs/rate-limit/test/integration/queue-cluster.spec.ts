// The queue on a Redis Cluster: everything of a queue in one slot for BullMQ and one for us, and what cannot work is
// refused at the start.
import type { Cluster } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { parseLimit } from '../../src/core/limit';
import { type OpenQueue, openQueue } from '../../src/queue/open-queue';
import type { RateLimitQueueOptions } from '../../src/queue/queue-options';
import type { RateLimitedQueue } from '../../src/queue/rate-limited-queue';
import { RateLimitModule } from '../../src';
import { RateLimitedProcessor, RateLimitQueueModule } from '../../src/queue';
import { buildApp, closeApps } from '../support/nest-app';
import { RedisCluster } from '../support/redis-cluster';

let cluster: RedisCluster;
let client: Cluster;
let opened: OpenQueue | undefined;
const errors: unknown[] = [];
beforeAll(async () => {
  cluster = await RedisCluster.start();
  client = cluster.client();
}, 30_000);
afterEach(async () => {
  await opened?.queue.close();
  opened = undefined;
  await closeApps();
});
afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

function open(options: Partial<RateLimitQueueOptions>, connection: unknown = client) {
  const name = `cluster-${randomUUID()}`;
  opened = openQueue({ name, rate: 200, capacity: 5, ...options } as never, {
    keyPrefix: 'rl',
    connection: connection as never,
    timeoutMs: 2000,
    onError: (error) => errors.push(error),
    onAnswer: () => undefined,
    policy:
      options.policy === undefined
        ? undefined
        : { limit: parseLimit({ rate: 5 }, 'vendor'), bucket: (key) => key },
  });
  return opened;
}

describe('a queue on a cluster of three masters', () => {
  it('works, keys, retries, pauses, cancels and results included, in one slot each', async () => {
    const open_ = open({ key: ({ key }: { key: string }) => key, job: { attempts: 2 } } as never);
    const queue = open_.queue as unknown as RateLimitedQueue<{ key: string; n: number }>;
    const attempts = new Map<number, number>();
    await open_.work({
      process: ({ data }: { data: { n: number } }) => {
        const attempt = (attempts.get(data.n) ?? 0) + 1;
        attempts.set(data.n, attempt);
        if (data.n % 10 === 0 && attempt === 1) throw new Error('once');
        return data.n;
      },
    } as never);
    const tickets = await queue.submitMany(
      Array.from({ length: 60 }, (_, n) => ({
        data: { key: `key ${n % 7}`, n },
        idempotencyKey: `${n}`,
      })),
    );
    const slots = await cluster.slots(`*${queue.name}*`);
    await queue.pauseKey('paused', 60_000);
    const waits = await queue.submit({ key: 'paused', n: 99 });
    expect(await waits.cancel()).toBe(true);
    const results = await Promise.all(tickets.map((ticket) => ticket.result()));
    expect(results).toEqual(Array.from({ length: 60 }, (_, n) => n));
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, failed: 0, completed: 60 });
    const keys = [...slots.values()];
    expect(keys.map((ofSlot) => new Set(ofSlot.map((key) => key.split(':')[0])).size)).toEqual(
      keys.map(() => 1),
    );
    expect(slots.size).toBe(2);
    expect(errors).toEqual([]);
  }, 30_000);

  it.each([
    [
      { rate: undefined, capacity: undefined, policy: 'vendor' },
      /policy "vendor" cannot be shared/,
    ],
    [{ worker: { prefix: 'mine' } }, /worker\.prefix "mine" spreads the queue/],
  ])('refuses %p before anything is opened', (options, message) => {
    expect(() => open(options)).toThrow(message);
  });

  it('takes a prefix in braces', async () => {
    const { queue } = open({ worker: { prefix: '{mine}' } });
    await queue.submit('x' as never);
    expect((await cluster.slots(`{mine}:${queue.name}:*`)).size).toBe(1);
  });

  it('stops the start where a client knows nothing of clusters, and fails submissions', async () => {
    const connection = cluster.masters[0].url;
    const refused = /the server is a node of a Redis Cluster: hand in a Cluster client/;
    await expect(open({}, connection).queue.submit('x' as never)).rejects.toThrow(refused);
    const name = `cluster-${randomUUID()}`;
    @RateLimitedProcessor(name)
    class Processor {
      process(): void {}
    }
    const start = buildApp({
      imports: [
        RateLimitModule.forRoot({}),
        RateLimitQueueModule.register({ name, rate: 1, connection }),
      ],
      providers: [Processor],
    });
    await expect(start).rejects.toMatchObject({
      code: 'RATE_LIMIT_STORE_CONFIGURATION',
      message: expect.stringMatching(refused),
    });
  }, 20_000);
});
