// Warnings of the start about a cluster: each node has settings of its own.
import { RateLimitModule } from 'nest-rate-limit';
import { buildApp, closeApps } from '../support/nest-app';
import { RedisCluster } from '../support/redis-cluster';
import { uniquePrefix } from '../support/redis-server';
import { collectWarnings } from '../support/start-up-warnings';

jest.setTimeout(30_000);

let cluster: RedisCluster;
beforeAll(async () => (cluster = await RedisCluster.start()));
afterAll(() => cluster.stop());
afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
});

async function warningsOf(options: Parameters<RedisCluster['client']>[0]): Promise<string[]> {
  const warnings = collectWarnings();
  const redis = cluster.client(options);
  await buildApp({ imports: [RateLimitModule.forRoot({ redis, keyPrefix: uniquePrefix() })] });
  redis.disconnect();
  return warnings;
}

const SAFE = {
  enableOfflineQueue: false,
  retryDelayOnFailover: 0,
  redisOptions: { autoResendUnfulfilledCommands: false },
};

it('says nothing where there is nothing to say', async () => {
  expect(await warningsOf(SAFE)).toEqual([]);
});

it('finds the offline queue of a cluster client', async () => {
  expect(await warningsOf({})).toEqual([
    expect.stringContaining('enableOfflineQueue on'),
    expect.stringContaining('retryDelayOnFailover 100'),
  ]);
});

it('finds one node that evicts', async () => {
  await cluster.each(cluster.masters.slice(2), (redis) =>
    redis.config('SET', 'maxmemory-policy', 'volatile-ttl'),
  );
  expect(await warningsOf(SAFE)).toEqual([
    expect.stringContaining('Redis has maxmemory-policy volatile-ttl'),
  ]);
});
