// Clients that were handed in, and whom Redis refuses when they connect: loud, whatever the failure policy, and over when
// it is mended. On one server and on a cluster.
import { Logger } from '@nestjs/common';
import type { Cluster, Redis } from 'ioredis';
import { Redis as IoRedis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimiterService, RateLimitModule, StoreConfigurationError } from '../../src';
import { CLUSTER_RIGHTS, LIMITER_RIGHTS } from '../support/documented-rights';
import { buildApp, closeApps } from '../support/nest-app';
import { RedisCluster } from '../support/redis-cluster';
import { RedisServer } from '../support/redis-server';

let server: RedisServer;
let cluster: RedisCluster;
let clients: (Redis | Cluster)[] = [];
beforeAll(async () => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  server = await RedisServer.start();
  cluster = await RedisCluster.start();
}, 30_000);
afterEach(async () => {
  await closeApps();
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(async () => {
  await server.stop();
  await cluster.stop();
  jest.restoreAllMocks();
});

async function limiterOn(client: Redis | Cluster): Promise<RateLimiterService> {
  clients.push(client);
  const redis = { redis: client, onStoreFailure: 'open' as const };
  const nest = await buildApp({ imports: [RateLimitModule.forRoot(redis)] });
  return nest.get(RateLimiterService);
}

async function isShared(limiter: RateLimiterService): Promise<void> {
  for (let tries = 0; ; tries++) {
    const answer = await limiter.consume('k', { rate: 1000 }).catch((error: unknown) => error);
    if ((answer as { source?: string }).source === 'shared') return;
    if (tries > 100) throw new Error(`not shared: ${String(answer)}`);
    await delay(50);
  }
}

const NEVER_WAITS = { enableOfflineQueue: false };

describe.each([
  ['that never waits', NEVER_WAITS],
  ['as ioredis makes them', {}],
])('a client %s', (_, options) => {
  it.each([
    ['no password', undefined],
    ['a wrong password', 'wrong'],
  ])(
    '%s',
    async (_what, password) => {
      const admin = new IoRedis(server.port);
      await admin.config('SET', 'requirepass', 'right');
      const client = new IoRedis(server.port, { ...options, password });
      const limiter = await limiterOn(client);
      for (const key of ['a', 'b', 'c', 'd']) {
        await expect(limiter.consume(key, { rate: 1 })).rejects.toThrow(StoreConfigurationError);
      }
      await admin.config('SET', 'requirepass', password ?? '');
      await isShared(limiter);
      await admin.config('SET', 'requirepass', '');
      admin.disconnect();
    },
    20_000,
  );

  it.each([
    ['no password', undefined],
    ['a wrong password', 'wrong'],
  ])(
    'of a cluster, with %s',
    async (_what, password) => {
      const passwords = cluster.masters.map(({ port }) => new IoRedis(port));
      const set = (to: string) =>
        Promise.all(passwords.map((redis) => redis.config('SET', 'requirepass', to)));
      await set('right');
      const client = cluster.client({ ...options, redisOptions: { password } });
      client.on('error', () => undefined);
      const limiter = await limiterOn(client);
      for (const key of ['a', 'b', 'c', 'd']) {
        await expect(limiter.consume(key, { rate: 1 })).rejects.toThrow(StoreConfigurationError);
      }
      await set(password ?? '');
      await isShared(limiter);
      await set('');
      for (const redis of passwords) redis.disconnect();
    },
    20_000,
  );
});

it('a user with the documented rights can use a cluster, and without them it is loud', async () => {
  const set = (...rules: string[]) =>
    cluster.each(cluster.masters, (redis) => redis.call('ACL', 'SETUSER', 'limiter', ...rules));
  await set('reset', ...LIMITER_RIGHTS, ...CLUSTER_RIGHTS);
  const client = cluster.client({
    ...NEVER_WAITS,
    redisOptions: { username: 'limiter', password: 'change-me' },
  });
  await new Promise((resolve) => client.once('ready', resolve));
  const limiter = await limiterOn(client);
  const charges = ['a', 'b', 'c', 'd'].map((key) => ({ key, limit: { rate: 1 } }));
  const { allowed, binding } = await limiter.consumeAll(charges);
  expect([allowed, binding.source]).toEqual([true, 'shared']);
  await set('-mget');
  await expect(limiter.consumeAll(charges)).rejects.toThrow(StoreConfigurationError);
  await set('+mget', '-cluster');
  const other = cluster.client({
    ...NEVER_WAITS,
    redisOptions: { username: 'limiter', password: 'change-me' },
  });
  other.on('error', () => undefined);
  const blind = await limiterOn(other);
  await delay(200);
  await expect(blind.consume('a', { rate: 1 })).rejects.toThrow(/NOPERM.*cluster/);
}, 20_000);
