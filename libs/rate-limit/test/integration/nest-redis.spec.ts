// The module over a real Redis: one call a request, instances that share, connections that are ours and not ours.
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Logger, type ModuleMetadata } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  byHeader,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  StoreConfigurationError,
} from 'nest-rate-limit';
import { Connections } from '../../src/queue/connections';
import { openRedis } from '../../src/store/redis/redis-client';
import { ADAPTERS, closeApps, startApp, times } from '../support/nest-app';
import { RedisServer, uniquePrefix } from '../support/redis-server';

@Controller()
class Routes {
  @Get()
  @RateLimit(0.001, 5)
  get() {
    return 'ok';
  }
  @Get('three')
  @RateLimit({ name: 'one', rate: 0.001, capacity: 100 })
  @RateLimit({ name: 'two', rate: 0.001, capacity: 100 })
  @RateLimit({ name: 'three', rate: 0.001, capacity: 3 })
  three() {
    return 'ok';
  }
  @Get('by-key')
  @RateLimit({ rate: 0.001, capacity: 5, key: byHeader('x-api-key') })
  byKey() {
    return 'ok';
  }
}

function guarded(options: RateLimitModuleOptions): ModuleMetadata {
  return {
    imports: [RateLimitModule.forRoot(options)],
    controllers: [Routes],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

let server: RedisServer;
let admin: Redis;

beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
});
beforeEach(() => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
});
afterEach(async () => {
  await closeApps();
  jest.restoreAllMocks();
});
afterAll(async () => {
  await admin.quit();
  await server.stop();
});

async function scriptCalls(): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

/** Connections of others than the test's own. */
async function connections(): Promise<number> {
  return ((await admin.client('LIST')) as string).trim().split('\n').length - 1;
}

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  it('a request with three limits is one script call; when one refuses, none is charged', async () => {
    const keyPrefix = uniquePrefix();
    const app = await startApp(guarded({ redis: server.url, keyPrefix }), { adapter });
    const before = await scriptCalls();
    expect(await app.statuses(6, '/three')).toEqual([...times(3, 200), ...times(3, 429)]);
    // The first one may have found the script unknown and sent it whole, which is no EVALSHA.
    expect((await scriptCalls()) - before).toBe(6);
    const left = app.nest.get(RateLimiterService).peek(
      'ip:127.0.0.1',
      {
        name: 'one',
        rate: 0.001,
        capacity: 100,
      },
      { scope: 'GET /three' },
    );
    expect(await left).toMatchObject({ remaining: 96, source: 'shared' });
  });

  it('two instances share: alternating between them, exactly the capacity passes', async () => {
    const keyPrefix = uniquePrefix();
    const options = { redis: server.url, keyPrefix };
    const apps = [
      await startApp(guarded(options), { adapter }),
      await startApp(guarded(options), { adapter }),
    ];
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) statuses.push((await apps[i % 2].get('/')).status);
    expect(statuses).toEqual([...times(5, 200), ...times(7, 429)]);
  });

  it('hashKeys leaves nothing of the caller in Redis', async () => {
    for (const hashKeys of [true, { secret: 's3cret' }] as const) {
      const keyPrefix = uniquePrefix();
      const app = await startApp(guarded({ redis: server.url, keyPrefix, hashKeys }), { adapter });
      expect(await app.statuses(6, '/by-key', { 'x-api-key': 'hunter2' })).toEqual([
        ...times(5, 200),
        429,
      ]);
      const keys = await admin.keys(`${keyPrefix}*`);
      expect(keys).toHaveLength(1);
      expect(keys[0]).not.toContain('hunter2');
    }
  });
});

describe('connections', () => {
  it('closes its own with the application, once', async () => {
    const before = await connections();
    const app = await startApp(guarded({ redis: server.url, keyPrefix: uniquePrefix() }));
    expect(await connections()).toBe(before + 1);
    await app.nest.get(RateLimiterService).close();
    await app.nest.close();
    expect(await connections()).toBe(before);
  });

  it('takes ioredis options', async () => {
    const redis = { host: '127.0.0.1', port: server.port, db: 3 };
    const keyPrefix = uniquePrefix();
    const app = await startApp(guarded({ redis, keyPrefix }));
    expect((await app.get('/')).status).toBe(200);
    expect(await admin.keys(`${keyPrefix}*`)).toEqual([]);
    await admin.select(3);
    expect(await admin.keys(`${keyPrefix}*`)).toHaveLength(1);
    await admin.select(0);
  });

  it('neither closes nor changes a client that was handed in', async () => {
    const redis = new Redis(server.url);
    await redis.ping();
    const options = { ...redis.options };
    const listeners = redis.eventNames().map((name) => [name, redis.listenerCount(name)]);
    const commands = Object.keys(redis).sort();
    const app = await startApp(guarded({ redis, keyPrefix: uniquePrefix() }));
    expect((await app.get('/')).status).toBe(200);
    await app.nest.close();
    expect(redis.status).toBe('ready');
    expect(redis.options).toEqual(options);
    expect(redis.eventNames().map((name) => [name, redis.listenerCount(name)])).toEqual(listeners);
    expect(Object.keys(redis).sort()).toEqual(commands);
    expect(await redis.ping()).toBe('PONG');
    await redis.quit();
  });

  it('closes its own when the start fails', async () => {
    const before = await connections();
    @Controller()
    class Wrong {
      @Get()
      @RateLimit('nosuch')
      get() {
        return 'ok';
      }
    }
    const start = startApp({
      imports: [RateLimitModule.forRoot({ redis: server.url })],
      controllers: [Wrong],
    });
    await expect(start).rejects.toThrow('policy "nosuch" is not registered');
    expect(await connections()).toBe(before);
  });
});

describe('a Redis that is not there at the start', () => {
  it('is not waited for when nobody listens there', async () => {
    const gone = await RedisServer.start();
    await gone.kill();
    const client = openRedis(gone.url);
    const queue = new Connections(gone.url, 'queue mails');
    // Neither has a deadline that this test would live to see.
    expect(await client.connected(60_000)).toMatchObject({
      message: expect.stringContaining('ECONNREFUSED'),
    });
    await queue.commands().nobodyThere;
    queue.close();
    await client.close();
    await gone.stop();
  });

  it('does not stop it; limits are local meanwhile, and shared soon after it came', async () => {
    const late = await RedisServer.start();
    await late.kill();
    const app = await startApp(guarded({ redis: late.url, keyPrefix: 'late' }));
    expect(await app.statuses(6, '/')).toEqual([...times(5, 200), 429]);
    const events: string[] = [];
    const limiter = app.nest.get(RateLimiterService);
    limiter.events.on('storeBack', () => events.push('back'));
    await late.restart();
    for (let waited = 0; waited < 50; waited++) {
      const { source } = await limiter.consume(`probe-${waited}`, { rate: 1 });
      if (source === 'shared') break;
      await delay(100);
    }
    expect(events).toEqual(['back']);
    expect(await limiter.consume('last', { rate: 1 })).toMatchObject({ source: 'shared' });
    await closeApps();
    await late.stop();
  }, 20_000);

  it('answers within the deadline while Redis is frozen, and says so once', async () => {
    const frozen = await RedisServer.start();
    const app = await startApp(guarded({ redis: frozen.url, storeTimeoutMs: 100 }));
    const limiter = app.nest.get(RateLimiterService);
    const events: string[] = [];
    limiter.events.on('storeOut', (cause) => events.push(cause.name));
    expect((await app.get('/')).status).toBe(200);
    frozen.pause();
    expect(await app.statuses(6, '/')).toEqual([...times(4, 200), 429, 429]);
    expect(events).toEqual(['StoreTimeoutError']);
    frozen.resume();
    await closeApps();
    await frozen.stop();
  }, 20_000);
});

describe('a Redis that refuses us', () => {
  it.each([
    ['no password', ''],
    ['a wrong password', ':wrong@'],
  ])(
    '%s: loud, never an outage, and over when it is mended',
    async (_what, credentials) => {
      const locked = await RedisServer.start();
      const owner = new Redis(locked.url);
      await owner.config('SET', 'requirepass', 'right');
      const redis = `redis://${credentials}127.0.0.1:${locked.port}`;
      const app = await startApp(guarded({ redis, keyPrefix: 'locked', onStoreFailure: 'open' }));
      const limiter = app.nest.get(RateLimiterService);
      await expect(limiter.consume('k', { rate: 1 })).rejects.toThrow(StoreConfigurationError);
      const answer = await app.get('/');
      expect(answer).toMatchObject({
        status: 500,
        body: { statusCode: 500, message: 'Internal server error' },
      });
      const lines = jest.mocked(Logger.prototype.error).mock.calls.map(([line]) => String(line));
      expect(lines.join('\n')).toContain('until then every limited call is answered with 500');
      expect(lines.join('\n')).not.toContain('going on without it');
      await owner.config('SET', 'requirepass', credentials === '' ? '' : 'wrong');
      let source = '';
      for (let waited = 0; waited < 50 && source !== 'shared'; waited++) {
        await delay(100);
        source = await limiter.consume('k', { rate: 100 }).then(
          (decision) => decision.source,
          () => '',
        );
      }
      expect(source).toBe('shared');
      owner.disconnect();
      await closeApps();
      await locked.stop();
    },
    20_000,
  );
});
