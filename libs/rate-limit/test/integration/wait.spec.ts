// onLimit 'wait' over real HTTP, on both adapters, with buckets in memory and in Redis.
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Logger, type ModuleMetadata } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  byHeader,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptions,
} from 'nest-rate-limit';
import { ADAPTERS, type App, buildApp, closeApps, startApp, times } from '../support/nest-app';
import { RedisServer, sharedRedisUrl, uniquePrefix } from '../support/redis-server';

const handled: string[] = [];

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'paced', rate: 10, capacity: 1, onLimit: 'wait', maxWaitMs: 1000 })
  get() {
    handled.push('get');
    return 'ok';
  }
  @Get('short')
  @RateLimit({ rate: 1, capacity: 1, onLimit: 'wait', maxWaitMs: 500 })
  short() {
    return 'ok';
  }
  @Get('long')
  @RateLimit({ name: 'long', rate: 0.5, capacity: 1, onLimit: 'wait', maxWaitMs: 60_000 })
  long() {
    handled.push('long');
    return 'ok';
  }
  @Get('many')
  @RateLimit({ rate: 1, capacity: 1, onLimit: 'wait', maxWaitMs: 3_600_000 })
  many() {
    return 'ok';
  }
  @Get('both')
  @RateLimit({ name: 'daily', rate: 3, per: 'day', key: byHeader('x-key') })
  @RateLimit({ name: 'smooth', rate: 3, capacity: 1, onLimit: 'wait', maxWaitMs: 5000 })
  both() {
    return 'ok';
  }
}

function guarded(options: RateLimitModuleOptions): ModuleMetadata {
  return {
    imports: [RateLimitModule.forRoot({ key: () => 'all', ...options })],
    controllers: [Routes],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

async function timed(call: () => Promise<{ status: number }>): Promise<[number, number]> {
  const start = performance.now();
  const { status } = await call();
  return [status, performance.now() - start];
}

/** A call that its client gives up after `ms`. */
function abandoned(app: App, path: string, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const call = request(app.url + path).on('error', () => resolve());
    call.end();
    setTimeout(() => call.destroy(), ms);
  });
}

beforeEach(() => {
  handled.length = 0;
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
});
afterEach(async () => {
  await closeApps();
  jest.restoreAllMocks();
});

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  describe.each([
    ['memory', () => ({})],
    ['Redis', () => ({ redis: sharedRedisUrl(), keyPrefix: uniquePrefix() })],
  ])('with buckets in %s', (_store, options) => {
    it('holds calls until their token is there, in order, with headers as usual', async () => {
      const app = await startApp(guarded(options()), { adapter });
      const calls = await Promise.all(times(4, '/').map((path) => timed(() => app.get(path))));
      expect(calls.map(([status]) => status)).toEqual(times(4, 200));
      const waits = calls.map(([, ms]) => ms).sort((a, b) => a - b);
      [0, 100, 200, 300].forEach((dueMs, i) => {
        // The first one's moment lies up to a few ms before that of its answer.
        expect(waits[i]).toBeGreaterThan(dueMs - 20);
        // To the millisecond it is judged on a clock that stands still: `testing-module.spec.ts`.
        expect(waits[i]).toBeLessThan(dueMs + 1000);
      });
      const answer = await app.get('/');
      expect(answer.headers).toMatchObject({
        'x-ratelimit-limit': '1',
        'x-ratelimit-remaining': '0',
        ratelimit: expect.stringContaining('"paced";r=0') as string,
      });
      expect(answer.headers['retry-after']).toBeUndefined();
    });

    it('refuses at once what would wait too long, and says when to come back', async () => {
      const app = await startApp(guarded(options()), { adapter });
      expect((await app.get('/short')).status).toBe(200);
      const start = performance.now();
      const refused = await app.get('/short');
      expect(performance.now() - start).toBeLessThan(500);
      expect(refused.status).toBe(429);
      expect(refused.headers['retry-after']).toBe('1');
      expect(refused.body).toMatchObject({ title: 'Quota Exceeded', status: 429 });
      await delay(520);
      // Nothing was taken by the refusal, so now the wait is short enough.
      expect((await app.get('/short')).status).toBe(200);
    });

    it('a caller that goes away gives its place back, and its handler never runs', async () => {
      const app = await startApp(guarded(options()), { adapter });
      await app.get('/long');
      await abandoned(app, '/long', 100);
      await delay(50);
      const info = await app.nest
        .get(RateLimiterService)
        .getInfo('all', { name: 'long', rate: 0.5, capacity: 1 }, { scope: 'GET /long' });
      expect(info).toMatchObject({ available: 0 });
      // Without the place back the next one would wait for almost 4 s.
      const [status, ms] = await timed(() => app.get('/long'));
      expect(status).toBe(200);
      expect(ms).toBeLessThan(3500);
      expect(handled).toEqual(['long', 'long']);
    });

    it('takes the others together with it at the moment of start', async () => {
      const app = await startApp(guarded(options()), { adapter });
      const ann = { 'x-key': 'ann' };
      const calls = await Promise.all(times(5, '/both').map((path) => app.get(path, ann)));
      const statuses = calls.map(({ status }) => status).sort((a, b) => a - b);
      expect(statuses).toEqual([200, 200, 200, 429, 429]);
      // Those two gave their places back: nobody waits for them.
      const [status, ms] = await timed(() => app.get('/both', { 'x-key': 'bob' }));
      expect(status).toBe(200);
      expect(ms).toBeLessThan(800);
    });

    it('closing ends what waits with 503', async () => {
      const app = await startApp(guarded(options()), { adapter });
      await app.get('/long');
      const waiting = app.get('/long');
      await delay(100);
      const start = performance.now();
      await app.nest.close();
      expect(performance.now() - start).toBeLessThan(1000);
      expect(await waiting).toMatchObject({
        status: 503,
        body: { detail: 'The service is closing. Retry in 1 s.' },
      });
      expect(handled).toEqual(['long']);
    });
  });

  it('a thousand calls wait at most; those after them are refused with 503', async () => {
    const app = await startApp(guarded({}), { adapter });
    const gone = new AbortController();
    const answers: { status: number; body: unknown }[] = [];
    const calls = Array.from({ length: 1050 }, async () => {
      const answer = await fetch(`${app.url}/many`, { signal: gone.signal });
      answers.push({ status: answer.status, body: await answer.json().catch(() => undefined) });
    });
    while (answers.filter(({ status }) => status === 503).length < 30) await delay(50);
    await delay(500);
    gone.abort();
    await Promise.allSettled(calls);
    const refused = answers.filter(({ status }) => status !== 200);
    // One a second is served meanwhile, and one more may wait.
    expect(refused.length).toBeGreaterThanOrEqual(30);
    expect(refused.length).toBeLessThan(50);
    for (const answer of refused) {
      expect(answer).toMatchObject({
        status: 503,
        body: { detail: 'Too many calls wait already. Retry in 1 s.' },
      });
    }
  });

  it('waits on the local bucket while the store is out', async () => {
    const server = await RedisServer.start();
    const app = await startApp(guarded({ redis: server.url, storeTimeoutMs: 50 }), { adapter });
    await server.stop();
    const calls: [number, number][] = [];
    for (let i = 0; i < 4; i++) calls.push(await timed(() => app.get('/')));
    expect(calls.map(([status]) => status)).toEqual(times(4, 200));
    const total = calls.reduce((sum, [, ms]) => sum + ms, 0);
    expect(total).toBeGreaterThan(280);
    expect(total).toBeLessThan(3000);
  });

  it.each<[string, RateLimitOptions[], string]>([
    [
      'no longest wait',
      [{ rate: 1, onLimit: 'wait' }],
      'maxWaitMs undefined is not a whole number',
    ],
    ['a wait of 0', [{ rate: 1, onLimit: 'wait', maxWaitMs: 0 }], 'maxWaitMs 0 is not a whole'],
    ['a negative wait', [{ rate: 1, onLimit: 'wait', maxWaitMs: -5 }], 'maxWaitMs -5 is not'],
    ['half a ms', [{ rate: 1, onLimit: 'wait', maxWaitMs: 0.5 }], 'maxWaitMs 0.5 is not a whole'],
    ['days', [{ rate: 1, onLimit: 'wait', maxWaitMs: 1e8 }], 'maxWaitMs 100000000 is not a whole'],
    ['a wait to reject', [{ rate: 1, maxWaitMs: 5 }], 'maxWaitMs 5 only goes with onLimit "wait"'],
    [
      'two that wait',
      [
        { name: 'a', rate: 1, onLimit: 'wait', maxWaitMs: 5 },
        { name: 'b', rate: 1, onLimit: 'wait', maxWaitMs: 5 },
      ],
      'the limits "b", "a" have onLimit "wait", and only one',
    ],
  ])('refuses to start with %s', async (_case, limits, message) => {
    @Controller()
    class Wrong {
      @Get()
      get() {
        return 'ok';
      }
    }
    for (const limit of limits) {
      const descriptor = Object.getOwnPropertyDescriptor(Wrong.prototype, 'get');
      RateLimit(limit)(Wrong.prototype, 'get', descriptor as PropertyDescriptor);
    }
    const build = buildApp({ imports: [RateLimitModule.forRoot()], controllers: [Wrong] });
    await expect(build).rejects.toMatchObject({
      name: 'InvalidLimitError',
      message: expect.stringContaining(message) as string,
    });
  });

  it('refuses to start with a store that takes nothing back', async () => {
    const store = {
      source: 'memory' as const,
      take: () => [],
      peek: () => [],
      reset: () => undefined,
    };
    const build = buildApp(guarded({ store }), { adapter });
    await expect(build).rejects.toMatchObject({
      name: 'UnsupportedOperationError',
      message: expect.stringContaining(
        'Routes.get: onLimit "wait" needs a store with giveBack',
      ) as string,
    });
  });
});
