// What the limiter may do in Redis, and what it says when it may not: each right of the documentation is needed, no other is,
// and a missing one is loud and never an outage.
import { Controller, Get, Logger } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  ConcurrencyExceededError,
  ConcurrencyLimit,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  StoreConfigurationError,
} from '../../src';
import { LIMITER_RIGHTS } from '../support/documented-rights';
import { type App, closeApps, startApp } from '../support/nest-app';
import { RedisServer } from '../support/redis-server';

const COMMANDS = LIMITER_RIGHTS.filter((rule) => rule.startsWith('+'));
/** Asked by the client when it connects, and by the lint of the start; both go on without it. */
const NOT_NEEDED_LATER = '+info';

@Controller()
class Routes {
  @Get()
  @RateLimit(0.001, 1_000_000)
  get() {
    return 'ok';
  }
  @Get('slots')
  @ConcurrencyLimit({ max: 100 })
  slots() {
    return 'ok';
  }
}

let server: RedisServer;
let admin: Redis;
let app: App;
let limiter: RateLimiterService;
let outages: unknown[];
let runs = 0;
const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation();

const rules = (...changes: string[]) => admin.call('ACL', 'SETUSER', 'limiter', ...changes);

beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
  await rules('reset', ...LIMITER_RIGHTS);
  app = await startApp({
    imports: [
      RateLimitModule.forRoot({
        redis: `redis://limiter:change-me@127.0.0.1:${server.port}`,
        // Wrong here: it would hide whatever is taken for an outage.
        onStoreFailure: 'open',
        policies: { named: { rate: 0.001, capacity: 100 } },
      }),
    ],
    controllers: [Routes],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  });
  limiter = app.nest.get(RateLimiterService);
  limiter.events.on('storeOut', (cause) => outages.push(cause));
});
beforeEach(async () => {
  outages = [];
  logged.mockClear();
  await rules('reset', ...LIMITER_RIGHTS);
});
afterAll(async () => {
  await closeApps();
  admin.disconnect();
  await server.stop();
  logged.mockRestore();
});

/** Everything that asks Redis; what was answered with 500 or thrown. */
async function everything(): Promise<{ statuses: number[]; errors: unknown[] }> {
  // So that scripts have to be sent, too.
  await admin.script('FLUSH');
  const statuses = [(await app.get('/')).status, (await app.get('/slots')).status];
  const errors: unknown[] = [];
  const call = async (ask: () => Promise<unknown>) => {
    try {
      await ask();
    } catch (error) {
      errors.push(error);
    }
  };
  await call(async () => {
    const decision = await limiter.consume('k', 'named');
    expect(decision).toMatchObject({ source: 'shared', degraded: false });
  });
  // Crowds leave in a script of their own.
  await call(() => Promise.all([1, 2, 3].map(() => limiter.consume('k', 'named'))));
  await call(async () => (await limiter.reserve('r', { rate: 1, capacity: 2 }, {})).cancel());
  await call(() => limiter.penalize('k', 'named', 1));
  await call(() => limiter.getInfo('k', 'named'));
  await call(() => limiter.configure('c', { rate: 2 }, { policy: 'named', ttlMs: 60_000 }));
  await call(() => limiter.consume('c', 'named', { cost: 2 }));
  await call(() => limiter.consume('c', 'named', { cost: 2 }));
  await call(() => limiter.clearConfiguration('c', { policy: 'named' }));
  await call(() => limiter.consume('c', 'named'));
  await call(() => limiter.configurations('c'));
  await call(() => limiter.reset('k', 'named'));
  const slots = `slots ${++runs}`;
  await call(() =>
    limiter.withConcurrency(slots, { max: 1 }, async () => {
      const second = limiter.withConcurrency(slots, { max: 1 }, () => undefined);
      await second.catch((error: unknown) => {
        if (!ConcurrencyExceededError.is(error)) throw error;
      });
    }),
  );
  return { statuses, errors };
}

it('works with exactly the documented rights, and tries nothing beside', async () => {
  await admin.call('ACL', 'LOG', 'RESET');
  expect(await everything()).toEqual({ statuses: [200, 200], errors: [] });
  expect(await admin.call('ACL', 'LOG')).toEqual([]);
  expect([outages, logged.mock.calls]).toEqual([[], []]);
});

it.each(COMMANDS.filter((right) => right !== NOT_NEEDED_LATER))(
  'without %s: loud, named, and no outage',
  async (right) => {
    await rules(`-${right.slice(1)}`);
    const { statuses, errors } = await everything();
    const lines = logged.mock.calls.map(([line]) => String(line));
    const told = [...errors.map(String), ...lines];
    expect(told.length).toBeGreaterThan(0);
    for (const error of errors) expect(error).toBeInstanceOf(StoreConfigurationError);
    for (const line of told) {
      expect(line).toMatch(/NOPERM|not permitted|can't run this command/i);
      // By the command, or by the line of the script where an old server does not say it.
      expect(line.toLowerCase()).toContain(right.slice(1));
    }
    expect(statuses.every((status) => status === 200 || status === 500)).toBe(true);
    expect(outages).toEqual([]);
    const before = lines.length;
    await everything();
    // Once, however often it is tried.
    expect(logged.mock.calls).toHaveLength(before);
    await rules(right);
    expect(await everything()).toEqual({ statuses: [200, 200], errors: [] });
  },
);

it('names the key that it may not touch', async () => {
  await rules('resetkeys', '~other:*');
  const { statuses, errors } = await everything();
  expect(statuses).toEqual([500, 500]);
  expect(String(errors[0])).toMatch(/NOPERM.*rl:\{/);
  expect(outages).toEqual([]);
});

it('starts and works without +info, which only its client and its lint ask for', async () => {
  await rules('-info');
  const client = new Redis(server.port, { username: 'limiter', password: 'change-me' });
  const warned = jest.spyOn(console, 'warn').mockImplementation();
  const other = await startApp({
    imports: [RateLimitModule.forRoot({ redis: client, keyPrefix: 'rl' })],
    controllers: [Routes],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  });
  expect((await other.get('/')).status).toBe(200);
  const service = other.nest.get(RateLimiterService);
  expect((await service.consume('x', { rate: 1 })).source).toBe('shared');
  client.disconnect();
  warned.mockRestore();
});
