// Warnings of the start about Redis: clients that keep what they cannot send, and servers that throw buckets away.
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { RateLimitModule, type RateLimitModuleOptions, RedisStore } from 'nest-rate-limit';
import { buildApp, closeApps } from '../support/nest-app';
import { RedisServer, sharedRedisUrl, uniquePrefix } from '../support/redis-server';
import { collectWarnings } from '../support/start-up-warnings';

const SAFE = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
} satisfies RedisOptions;

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
});
afterAll(async () => {
  await admin.quit();
  await server.stop();
});

let warnings: string[];
const clients: Redis[] = [];
beforeEach(() => (warnings = collectWarnings()));
afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
  for (const each of clients.splice(0)) each.disconnect();
});

async function warningsOf(options: RateLimitModuleOptions): Promise<string[]> {
  await buildApp({ imports: [RateLimitModule.forRoot({ keyPrefix: uniquePrefix(), ...options })] });
  return warnings;
}

function client(url: string, options: RedisOptions): Redis {
  const made = new Redis(url, options);
  clients.push(made);
  return made;
}

describe('a client that is handed in', () => {
  it('with its offline queue on', async () => {
    expect(await warningsOf({ redis: client(sharedRedisUrl(), {}) })).toEqual([
      expect.stringMatching(
        /enableOfflineQueue and autoResendUnfulfilledCommands on: .*Create it with enableOfflineQueue: false/,
      ),
    ]);
  });

  it('with one of the two on', async () => {
    const redis = client(sharedRedisUrl(), { ...SAFE, autoResendUnfulfilledCommands: true });
    expect(await warningsOf({ redis })).toEqual([
      expect.stringContaining('has autoResendUnfulfilledCommands on'),
    ]);
  });

  it('with braces in its own prefix', async () => {
    const redis = client(sharedRedisUrl(), { ...SAFE, keyPrefix: '{app}:' });
    expect(await warningsOf({ redis })).toEqual([
      expect.stringContaining('keyPrefix "{app}:" of the Redis client has braces'),
    ]);
  });

  it('of a cluster that sends again what it sent on a lost connection', async () => {
    const nodes = [{ host: '127.0.0.1', port: 1 }];
    const resending = new Cluster(nodes, { lazyConnect: true, enableOfflineQueue: false });
    expect(await warningsOf({ redis: resending })).toEqual([
      expect.stringMatching(/retryDelayOnFailover 100: .*Create it with retryDelayOnFailover: 0/),
    ]);
    warnings.length = 0;
    const options = { lazyConnect: true, enableOfflineQueue: false, retryDelayOnFailover: 0 };
    expect(await warningsOf({ redis: new Cluster(nodes, options) })).toEqual([]);
  });

  it('not: as the documentation asks for it, connected or not yet', async () => {
    expect(await warningsOf({ redis: client(sharedRedisUrl(), SAFE) })).toEqual([]);
    const lazy = client(sharedRedisUrl(), { ...SAFE, lazyConnect: true });
    expect(await warningsOf({ redis: lazy })).toEqual([]);
    expect(lazy.status).toBe('wait');
  });
});

describe('maxmemory-policy', () => {
  afterEach(() => admin.config('SET', 'maxmemory-policy', 'noeviction'));

  it.each<[string, () => RateLimitModuleOptions]>([
    ['a URL', () => ({ redis: server.url })],
    ['a client', () => ({ redis: client(server.url, SAFE) })],
    ['a store', () => ({ store: new RedisStore(client(server.url, SAFE)) })],
  ])('that evicts, by %s', async (_, options) => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    expect(await warningsOf(options())).toEqual([
      expect.stringMatching(/^Redis has maxmemory-policy allkeys-lru: .*Set noeviction/),
    ]);
  });

  it('not: noeviction', async () => {
    expect(await warningsOf({ redis: server.url })).toEqual([]);
  });

  it('silent where nobody may ask', async () => {
    await admin.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await admin.call('ACL', 'SETUSER', 'limited', 'on', '>pw', '~*', '+@all', '-info', '-config');
    const redis = {
      port: server.port,
      username: 'limited',
      password: 'pw',
      enableReadyCheck: false,
    };
    expect(await warningsOf({ redis })).toEqual([]);
  });

  it('silent, and no reason to wait, where nobody answers', async () => {
    const gone = client('redis://127.0.0.1:1', { ...SAFE, retryStrategy: null });
    gone.on('error', () => undefined);
    expect(await warningsOf({ redis: gone })).toEqual([]);
  });
});
