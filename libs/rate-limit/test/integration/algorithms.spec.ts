// The algorithms through the whole library: routes, headers, the service, and what each cannot do.
import { Controller, Get } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  RateLimit,
  RateLimitGuard,
  RateLimiterService,
  RateLimitModule,
  type RateLimitOptions,
  UnsupportedOperationError,
} from 'nest-rate-limit';
import { simulate } from 'nest-rate-limit/testing';
import { ADAPTERS, buildApp, closeApps, startApp, times } from '../support/nest-app';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

function routes(options: RateLimitOptions) {
  @Controller()
  class Routes {
    @Get()
    @RateLimit(options)
    get() {
      return 'ok';
    }
  }
  return [Routes];
}
const providers = [{ provide: APP_GUARD, useClass: RateLimitGuard }];

afterEach(closeApps);

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  describe.each([
    ['memory', () => ({})],
    ['Redis', () => ({ redis: sharedRedisUrl(), keyPrefix: uniquePrefix() })],
  ])('with buckets in %s', (_store, store) => {
    it.each(['sliding-window', 'fixed-window'] as const)(
      '%s: so many a day, then 429',
      async (algorithm) => {
        const app = await startApp(
          {
            imports: [RateLimitModule.forRoot(store())],
            controllers: routes({ rate: 3, per: 'day', algorithm }),
            providers,
          },
          { adapter },
        );
        const { headers } = await app.get('/');
        expect(headers['ratelimit-policy']).toBe('"default";q=3;w=86400');
        expect(headers['ratelimit']).toMatch(/^"default";r=2;t=\d+$/);
        expect(await app.statuses(3, '/')).toEqual([200, 200, 429]);
      },
    );

    it('leaky-bucket: one at a time, evenly spaced', async () => {
      const app = await startApp(
        {
          imports: [RateLimitModule.forRoot(store())],
          controllers: routes({ rate: 1, per: 'hour', capacity: 2, algorithm: 'leaky-bucket' }),
          providers,
        },
        { adapter },
      );
      expect(await app.statuses(3, '/')).toEqual([200, ...times(2, 429)]);
      const limiter = app.nest.get(RateLimiterService);
      const lane = {
        rate: 1,
        per: 'hour',
        capacity: 2,
        algorithm: 'leaky-bucket',
        name: 'lane',
      } as const;
      const delays: number[] = [];
      for (let i = 0; i < 3; i++) {
        const { allowed, delayMs } = await limiter.reserve('k', lane, { maxWaitMs: 1e8 });
        expect(allowed).toBe(true);
        delays.push(Math.round(delayMs / 60_000));
      }
      expect(delays).toEqual([0, 60, 120]);
      // Two wait: no more may.
      const refused = await limiter.reserve('k', lane, { maxWaitMs: 1e8 });
      expect(refused.allowed).toBe(false);
    });
  });
});

describe('what an algorithm cannot do is an error that says so', () => {
  const start = (options: RateLimitOptions) =>
    buildApp({ imports: [RateLimitModule.forRoot()], controllers: routes(options), providers });

  it.each(['sliding-window', 'fixed-window'] as const)('%s: hold a call', async (algorithm) => {
    const starting = start({ rate: 3, algorithm, onLimit: 'wait', maxWaitMs: 1000 });
    await expect(starting).rejects.toThrow(UnsupportedOperationError);
    await expect(starting).rejects.toThrow(`algorithm "${algorithm}" promises none`);
  });

  it.each(['sliding-window', 'fixed-window'] as const)(
    '%s: reserve for later',
    async (algorithm) => {
      const app = await buildApp({ imports: [RateLimitModule.forRoot()] });
      const limiter = app.get(RateLimiterService);
      const limit = { rate: 3, algorithm };
      await expect(limiter.reserve('k', limit, { maxWaitMs: 1 })).rejects.toThrow(
        UnsupportedOperationError,
      );
      const now = await limiter.reserve('k', limit, { cost: 3 });
      expect(now.allowed).toBe(true);
      await now.settle(1);
      expect(await limiter.getInfo('k', limit)).toMatchObject({ available: 2 });
    },
  );

  it.each(['sliding-window', 'fixed-window'] as const)(
    '%s: but acquire asks until there is room',
    async (algorithm) => {
      const app = await buildApp({ imports: [RateLimitModule.forRoot()] });
      const limiter = app.get(RateLimiterService);
      const limit = { rate: 2, per: 100, algorithm };
      const waits = await Promise.all(times(5, 0).map(() => limiter.acquire('k', limit)));
      expect(waits.every(({ allowed }) => allowed)).toBe(true);
      expect(waits[4].waitedMs).toBeGreaterThanOrEqual(100);
    },
  );
});

it('simulate knows the envelope of each', () => {
  const arrivals = times(3000, 0).map((_, i) => i * 7);
  for (const algorithm of [
    'token-bucket',
    'sliding-window',
    'fixed-window',
    'leaky-bucket',
  ] as const) {
    const { totals } = simulate(
      { rate: 20, algorithm, ...(algorithm.endsWith('bucket') && { capacity: 20 }) },
      arrivals,
    );
    expect(totals.allowed).toBeGreaterThan(350);
    expect(totals.allowed).toBeLessThanOrEqual(442);
  }
});
