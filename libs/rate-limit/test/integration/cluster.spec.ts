// The limiter on a cluster of three masters, whose calls touch keys of several slots: all or nothing as in one Redis, on
// all nodes, and no error of the cluster reaches anybody.
import { Controller, Get, Logger } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import fc from 'fast-check';
import type { Cluster, Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import {
  byHeader,
  ConcurrencyExceededError,
  ConcurrencyLimit,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
} from '../../src';
import { parseLimit } from '../../src/core/limit';
import { MemoryStore } from '../../src/store/memory/memory-store';
import type { BucketCharge, Outcome } from '../../src/store/rate-limit-store';
import { RedisStore } from '../../src/store/redis/redis-store';
import { FakeClock, redisStoreOn, storeContract } from '../../src/testing';
import { limiterOver } from '../support/limiter';
import { closeApps, startApp } from '../support/nest-app';
import { RedisCluster } from '../support/redis-cluster';
import { KeyWatch } from '../support/redis-commands';
import { uniquePrefix } from '../support/redis-server';

let cluster: RedisCluster;
let client: Cluster;
beforeAll(async () => {
  cluster = await RedisCluster.start();
  client = cluster.client();
}, 30_000);
afterEach(closeApps);
afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

/** The error replies that the nodes gave, by their first word. */
async function errorReplies(): Promise<Set<string>> {
  const stats = await cluster.each(cluster.masters, (redis) => redis.info('errorstats'));
  return new Set([...stats.join('\n').matchAll(/^errorstat_(\w+):/gm)].map(([, word]) => word));
}

const LIMITS = [
  { rate: 2, capacity: 5 },
  { rate: 1, capacity: 3 },
  { rate: 3, capacity: 8 },
  { rate: 4, per: 2000, algorithm: 'sliding-window' as const },
  { rate: 3, per: 1000, algorithm: 'fixed-window' as const },
  { rate: 2, capacity: 2, algorithm: 'leaky-bucket' as const },
].map((limit) => parseLimit(limit, 'test'));

storeContract('redis cluster', (clock) => redisStoreOn(clock, client));

describe('keys of one call in different slots', () => {
  it('are charged as by one store in this process: all or nothing, with the same answers', async () => {
    const call = fc.uniqueArray(
      fc.record({
        bucket: fc.nat(LIMITS.length - 1),
        tokens: fc.constantFrom(0.5, 1, 2),
        waitMs: fc.constantFrom(0, 0, 700),
      }),
      { selector: ({ bucket }) => bucket, minLength: 1, maxLength: 4 },
    );
    const step = fc.record({ call, passes: fc.constantFrom(0, 0, 250, 1100) });
    const told = ({ granted, waitUs, credits, fullInUs }: Outcome) =>
      `${granted} ${waitUs} ${credits} ${fullInUs}`;
    let refusedBehind = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 20 }), async (steps) => {
        const clock = new FakeClock();
        const prefix = uniquePrefix();
        const memory = new MemoryStore({ clock });
        const store = redisStoreOn(clock, client);
        for (const { call: asked, passes } of steps) {
          clock.advance(passes);
          const charges = asked.map(({ bucket, tokens, waitMs }): BucketCharge => {
            const limit = LIMITS[bucket];
            const maxWaitUs = limit.algorithm.endsWith('window') ? 0 : waitMs * 1000;
            return {
              bucket: `${prefix}${bucket}`,
              place: 'p',
              limit,
              price: tokens * 1000 * limit.q,
              maxWaitUs,
            };
          });
          const expected = memory.take(charges);
          expect((await store.take(charges)).map(told)).toEqual(expected.map(told));
          const looks = charges.map((each) => ({ ...each, maxWaitUs: 0 }));
          expect((await store.peek(looks)).map(told)).toEqual(memory.peek(looks).map(told));
          if (new Set(expected.map(({ granted }) => granted)).size === 2) refusedBehind++;
        }
      }),
      { numRuns: 60 },
    );
    expect(refusedBehind).toBeGreaterThan(100);
  }, 60_000);

  it('many at once: what was granted is what is missing, to the last credit', async () => {
    const clock = new FakeClock();
    const prefix = uniquePrefix();
    const store = redisStoreOn(clock, client);
    const limit = parseLimit({ rate: 1, capacity: 20 }, 'test');
    const granted = Array.from({ length: 12 }, () => 0);
    let seed = 1;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    let refused = 0;
    await Promise.all(
      Array.from({ length: 400 }, async () => {
        const buckets = [...new Set([random(12), random(12), random(12)])];
        const outcomes = await store.take(
          buckets.map((bucket) => ({
            bucket: `${prefix}${bucket}`,
            place: 'p',
            limit,
            price: limit.q * 1000,
            maxWaitUs: 0,
          })),
        );
        if (outcomes.every((each) => each.granted)) for (const each of buckets) granted[each]++;
        else refused++;
      }),
    );
    const peeked = await store.peek(
      granted.map((_, bucket) => ({
        bucket: `${prefix}${bucket}`,
        place: 'p',
        limit,
        price: 1,
        maxWaitUs: 0,
      })),
    );
    expect(peeked.map(({ held }) => 20 - held / (limit.q * 1000))).toEqual(granted);
    expect(refused).toBeGreaterThan(100);
    expect(Math.max(...granted)).toBeLessThanOrEqual(20);
  });

  it('reserved together, cancelled, settled, and given back', async () => {
    const limiter = limiterOver(new RedisStore(client, { giveUpAfterMs: 2000 }), {
      keyPrefix: uniquePrefix(),
      timeoutMs: 2000,
      policies: { requests: { rate: 0.001, capacity: 5 }, tokens: { rate: 0.001, capacity: 100 } },
    });
    const charges = [
      { key: 'user 7', limit: 'requests' },
      { key: 'team 3', limit: 'tokens', cost: 40 },
    ];
    const left = async () =>
      Promise.all(
        charges.map(
          async ({ key, limit }) => (await limiter.getInfo(key, limit))?.available ?? 'full',
        ),
      );
    const first = await limiter.reserveAll(charges);
    expect([first.allowed, await left()]).toEqual([true, [4, 60]]);
    await first.cancel();
    expect(await left()).toEqual(['full', 'full']);
    await limiter.withBudget(charges, {}, (hold) => hold.used(10));
    expect(await left()).toEqual([4, 90]);
    const refused = await limiter.reserveAll([charges[0], { ...charges[1], cost: 95 }]);
    expect([refused.allowed, refused.binding.policy, await left()]).toEqual([
      false,
      'tokens',
      [4, 90],
    ]);
    expect(refused.decisions.map(({ remaining }) => remaining)).toEqual([4, 90]);
  });
});

@Controller()
@RateLimit({ name: 'everybody', rate: 100_000, key: () => 'all' })
class Routes {
  @Get()
  @RateLimit({ name: 'caller', rate: 0.001, capacity: 2, key: byHeader('x-api-key') })
  @RateLimit({ name: 'tenant', rate: 0.01, capacity: 40, key: byHeader('x-tenant') })
  @RateLimit({ name: 'tenant', tier: 'pro', rate: 1000, key: byHeader('x-tenant') })
  get() {
    return 'ok';
  }

  @Get('slow')
  @ConcurrencyLimit({ name: 'caller', max: 1, key: byHeader('x-api-key') })
  @ConcurrencyLimit({ name: 'tenant', max: 3, key: byHeader('x-tenant') })
  async slow() {
    await delay(300);
    return 'ok';
  }
}

async function app(redis: Cluster, keyPrefix: string) {
  return startApp({
    imports: [
      RateLimitModule.forRoot({
        redis,
        keyPrefix,
        storeTimeoutMs: 2000,
        tiers: { free: { rate: 50 }, pro: { rate: 1000 } },
        tierOf: ({ headers }) => headers['x-tier'] as string,
        always: { name: 'address', rate: 50_000 },
      }),
    ],
    controllers: [Routes],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  });
}

describe('an application', () => {
  const headers = (i: number, tier = 'pro') => ({
    'x-api-key': `${i.toString(36)}{}:${(i * 7919) % 1000}`,
    'x-tenant': `t${i % 50}`,
    'x-tier': tier,
  });

  it('1000 trackers, four limits a route, two tiers: every answer right, keys on all nodes (B35)', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const keyPrefix = `b35-${Date.now()}`;
    const { get, nest } = await app(client, keyPrefix);
    const limiter = nest.get(RateLimiterService);
    const counts = new Map<number, number>();
    for (let from = 0; from < 1000; from += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          for (let call = 0; call < 3; call++) {
            const { status } = await get('/', headers(from + i));
            counts.set(status, (counts.get(status) ?? 0) + 1);
          }
        }),
      );
    }
    expect(Object.fromEntries(counts)).toEqual({ 200: 2000, 429: 1000 });
    // What was refused to callers was not taken from the tenants: 40 of each for the free tier.
    const free = await Promise.all(
      Array.from({ length: 200 }, (_, i) => get('/', headers(5000 + 50 * i, 'free'))),
    );
    expect(free.filter(({ status }) => status === 200)).toHaveLength(40);
    const [refused] = free.filter(({ status }) => status === 429);
    expect(refused.body).toMatchObject({ 'violated-policies': ['tenant'] });
    await limiter.configure('vip', { rate: 1, capacity: 7 }, { policy: 'caller' });
    await limiter.block('blocked', { rate: 1 }, 5000);
    expect(await limiter.configurations('vip')).toHaveLength(1);
    await limiter.reset('vip');
    const slots = await cluster.slots(`${keyPrefix}*`);
    const perNode = [0, 1, 2].map(
      (node) => [...slots.keys()].filter((slot) => Math.floor((slot * 3) / 16_384) === node).length,
    );
    for (const count of perNode) expect(count).toBeGreaterThan(100);
    expect(error).not.toHaveBeenCalled();
    // ERR: what ioredis asks of a server that is too old for it.
    expect([...(await errorReplies())].sort()).toEqual(['ERR', 'NOSCRIPT']);
    error.mockRestore();
  }, 30_000);

  it('slots of concurrency limits with different keys: none is left behind by a refusal', async () => {
    const keyPrefix = `slots-${Date.now()}`;
    const { get, nest } = await app(client, keyPrefix);
    const status = async (key: string, tenant: string) =>
      (await get('/slow', { 'x-api-key': key, 'x-tenant': tenant })).status;
    const all = ['a', 'a', 'b', 'c', 'd', 'e'].map((key) => status(key, 'one'));
    const statuses = await Promise.all(all);
    expect(statuses.filter((each) => each === 200)).toHaveLength(3);
    expect(statuses.filter((each) => each !== 200).every((each) => each === 429)).toBe(true);
    expect(await Promise.all(['d', 'e', 'f'].map((key) => status(key, 'one')))).toEqual([
      200, 200, 200,
    ]);
    const limiter = nest.get(RateLimiterService);
    await limiter.withConcurrency('k', { max: 1 }, async () => {
      const second = limiter.withConcurrency('k', { max: 1 }, () => 'in');
      await expect(second).rejects.toThrow(ConcurrencyExceededError);
    });
  }, 20_000);

  it('touches no key in a script that it did not declare, on any node (B65)', async () => {
    const { get, nest } = await app(client, uniquePrefix());
    const limiter = nest.get(RateLimiterService);
    const work = async () => {
      await Promise.all(Array.from({ length: 30 }, (_, i) => get('/', headers(i))));
      await get('/slow', headers(1));
      for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const reserved = await limiter.reserve(key, { rate: 1 }, { maxWaitMs: 100 });
        await reserved.cancel();
        await limiter.configure(key, { rate: 2 });
        await limiter.block(key, { rate: 1 }, 10);
        await limiter.penalize(key, { rate: 1 }, 3);
        await limiter.peek(key, { rate: 1 });
        await limiter.clearConfiguration(key);
      }
    };
    const watching = async (nodes: readonly Redis[]): Promise<KeyWatch[]> => {
      const watches: KeyWatch[] = [];
      const [first, ...rest] = nodes;
      watches.push(
        await KeyWatch.over(first, async () => {
          if (rest.length > 0) watches.push(...(await watching(rest)));
          else await work();
        }),
      );
      return watches;
    };
    const watches = await watching(client.nodes('master'));
    expect(watches.flatMap(({ undeclared }) => undeclared)).toEqual([]);
    for (const { touched } of watches) expect(touched).toBeGreaterThan(50);
  }, 20_000);
});
