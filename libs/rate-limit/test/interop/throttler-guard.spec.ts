// The documented examples of @nestjs/throttler: with its own storage, over ours, and with our guard in its place.
import { setTimeout as delay } from 'node:timers/promises';
import {
  Controller,
  type DynamicModule,
  Get,
  Logger,
  Module,
  type ModuleMetadata,
  type Provider,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  SkipThrottle,
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerModuleOptions,
  type ThrottlerOptions,
} from '@nestjs/throttler';
import { RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit } from 'nest-rate-limit';
import { RedisTokenBucketStorage } from 'nest-rate-limit/throttler';
import { ADAPTERS, type App, closeApps, startApp } from '../support/nest-app';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

afterEach(closeApps);

interface Setup {
  readonly imports: (options: ThrottlerModuleOptions) => ModuleMetadata['imports'];
  readonly guard: Provider['constructor'];
}

function withStorage(options: ThrottlerModuleOptions) {
  const storage = new RedisTokenBucketStorage(sharedRedisUrl(), { keyPrefix: uniquePrefix() });
  const rest = Array.isArray(options) ? { throttlers: options } : options;
  return [ThrottlerModule.forRoot({ ...rest, storage })];
}

const SETUPS: Record<string, Setup> = {
  'their guard and storage': {
    imports: (options) => [ThrottlerModule.forRoot(options)],
    guard: ThrottlerGuard,
  },
  'their guard over our storage': { imports: withStorage, guard: ThrottlerGuard },
  'our guard': {
    imports: (options) => [
      ThrottlerModule.forRoot(options),
      RateLimitModule.forRoot({
        throttlerCompat: true,
        redis: sharedRedisUrl(),
        keyPrefix: uniquePrefix(),
      }),
    ],
    guard: RateLimitGuard,
  },
};

@Controller()
class PlainController {
  @Get()
  root() {
    return 'ok';
  }

  @Get('other')
  other() {
    return 'ok';
  }

  @Throttle({ default: { limit: 2, ttl: 3_600_000 } })
  @Get('tight')
  tight() {
    return 'ok';
  }

  @Throttle({ default: { limit: 1 } as ThrottlerOptions })
  @Get('lower')
  lower() {
    return 'ok';
  }

  @SkipThrottle()
  @Get('free')
  free() {
    return 'ok';
  }
}

@SkipThrottle()
@Controller('free-class')
class FreeController {
  @Get()
  free() {
    return 'ok';
  }

  @SkipThrottle({ default: false })
  @Get('limited')
  limited() {
    return 'ok';
  }
}

@Throttle({ default: { limit: 2, ttl: 3_600_000 } })
@Controller('tight-class')
class TightController {
  @Get()
  root() {
    return 'ok';
  }

  @Throttle({ default: { limit: 1, ttl: 3_600_000 } })
  @Get('tighter')
  tighter() {
    return 'ok';
  }
}

class InheritedController extends TightController {}
Controller('inherited')(InheritedController);

@Controller('named')
class NamedController {
  @Get()
  root() {
    return 'ok';
  }

  @SkipThrottle()
  @Get('bare')
  bare() {
    return 'ok';
  }

  @SkipThrottle({ short: true })
  @Get('long-only')
  longOnly() {
    return 'ok';
  }

  @SkipThrottle({ short: true, long: true })
  @Get('free')
  free() {
    return 'ok';
  }

  @Throttle({ short: { limit: 1, ttl: 3_600_000 } })
  @Get('shorter')
  shorter() {
    return 'ok';
  }
}

const CONTROLLERS = [
  PlainController,
  FreeController,
  TightController,
  InheritedController,
  NamedController,
];

function moduleOf(imports: ModuleMetadata['imports'], guard: unknown): ModuleMetadata {
  return {
    imports,
    controllers: CONTROLLERS,
    providers: [{ provide: APP_GUARD, useClass: guard as never }],
  };
}

const HOUR = 3_600_000;

describe.each(Object.entries(SETUPS))('%s', (_, { imports, guard }) => {
  describe.each(ADAPTERS)('on %s', (_adapter, adapter) => {
    const start = (options: ThrottlerModuleOptions): Promise<App> =>
      startApp(moduleOf(imports(options), guard), { adapter });

    /** How many of six calls pass. */
    async function passes(app: App, path: string, headers?: Record<string, string>) {
      const statuses = await app.statuses(6, path, headers);
      expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
      const passed = statuses.filter((status) => status === 200).length;
      expect(statuses.slice(passed)).toEqual(statuses.slice(passed).map(() => 429));
      return passed;
    }

    it('one throttler: every route by itself; overriding, lowering and skipping it', async () => {
      const app = await start([{ ttl: HOUR, limit: 3 }]);
      expect(await passes(app, '/')).toBe(3);
      expect(await passes(app, '/other')).toBe(3);
      expect(await passes(app, '/tight')).toBe(2);
      expect(await passes(app, '/lower')).toBe(1);
      expect(await passes(app, '/free')).toBe(6);
      expect(await passes(app, '/free-class')).toBe(6);
      expect(await passes(app, '/free-class/limited')).toBe(3);
      expect(await passes(app, '/tight-class')).toBe(2);
      expect(await passes(app, '/tight-class/tighter')).toBe(1);
      expect(await passes(app, '/inherited')).toBe(2);
    });

    it('several throttlers by name: the strictest binds; each is skipped and overridden by itself', async () => {
      const app = await start([
        { name: 'short', ttl: HOUR, limit: 2 },
        { name: 'long', ttl: 24 * HOUR, limit: 4 },
      ]);
      expect(await passes(app, '/named')).toBe(2);
      // Theirs: a bare skip is for "default" only.
      expect(await passes(app, '/named/bare')).toBe(2);
      expect(await passes(app, '/named/long-only')).toBe(4);
      expect(await passes(app, '/named/free')).toBe(6);
      expect(await passes(app, '/named/shorter')).toBe(1);
    });

    it('ignoreUserAgents and skipIf, for all and for one', async () => {
      const app = await start({
        ignoreUserAgents: [/googlebot/i],
        throttlers: [
          {
            ttl: HOUR,
            limit: 2,
            skipIf: (context) =>
              context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers[
                'x-inside'
              ] === 'yes',
          },
        ],
      });
      expect(await passes(app, '/', { 'user-agent': 'Googlebot/2.1' })).toBe(6);
      expect(await passes(app, '/', { 'x-inside': 'yes' })).toBe(6);
      expect(await passes(app, '/', { 'user-agent': 'curl' })).toBe(2);
    });

    it('getTracker and generateKey say who shares', async () => {
      const app = await start({
        getTracker: (req) => String((req.headers as Record<string, string>)['x-user']),
        throttlers: [
          { name: 'own', ttl: HOUR, limit: 3 },
          {
            name: 'everywhere',
            ttl: HOUR,
            limit: 4,
            generateKey: (_context, tracker, name) => `${name} ${tracker}`,
          },
        ],
      });
      expect(await passes(app, '/', { 'x-user': 'ann' })).toBe(3);
      expect(await passes(app, '/', { 'x-user': 'bob' })).toBe(3);
      // One bucket over all routes, of which three were taken.
      const rest = await passes(app, '/other', { 'x-user': 'ann' });
      expect([0, 1]).toContain(rest);
    });

    it('limit and ttl by the request', async () => {
      const app = await start([
        {
          limit: (context) =>
            Number(
              context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers[
                'x-plan'
              ],
            ),
          ttl: async () => Promise.resolve(HOUR),
          getTracker: (req) => String((req.headers as Record<string, string>)['x-plan']),
        },
      ]);
      expect(await passes(app, '/', { 'x-plan': '2' })).toBe(2);
      expect(await passes(app, '/', { 'x-plan': '5' })).toBe(5);
    });

    it('numbers as text, as from the environment', async () => {
      const app = await start([{ ttl: '3600000' as never, limit: '2' as never }]);
      expect(await passes(app, '/')).toBe(2);
    });

    it('tells the limit, what is left, and in seconds when to come back', async () => {
      const app = await start([{ ttl: 60_000, limit: 2 }]);
      const first = await app.get('/');
      expect(first.headers).toMatchObject({
        'x-ratelimit-limit': '2',
        'x-ratelimit-remaining': '1',
      });
      const reset = Number(first.headers['x-ratelimit-reset']);
      expect(reset).toBeGreaterThanOrEqual(1);
      expect(reset).toBeLessThanOrEqual(60);
      await app.get('/');
      const refused = await app.get('/');
      expect(refused.status).toBe(429);
      const after = Number(refused.headers['retry-after']);
      expect(after).toBeGreaterThanOrEqual(1);
      expect(after).toBeLessThanOrEqual(60);
    });

    it('options from a factory', async () => {
      @Module({})
      class Numbers {
        static with(): DynamicModule {
          return {
            module: Numbers,
            providers: [{ provide: 'LIMIT', useValue: 2 }],
            exports: ['LIMIT'],
          };
        }
      }
      const made = imports([]) as DynamicModule[];
      const storage = (made[0].providers ?? [])
        .map((provider) => (provider as { useValue?: { storage?: unknown } }).useValue?.storage)
        .find((each) => each !== undefined);
      const throttler = ThrottlerModule.forRootAsync({
        imports: [Numbers.with()],
        inject: ['LIMIT'],
        useFactory: async (limit: number) =>
          Promise.resolve({
            throttlers: [{ ttl: HOUR, limit }],
            ...(storage !== undefined && { storage: storage as never }),
          }),
      });
      const app = await startApp(moduleOf([throttler, ...made.slice(1)], guard), { adapter });
      expect(await passes(app, '/')).toBe(2);
    });
  });
});

describe('our guard beside theirs', () => {
  @Controller('mixed')
  class MixedController {
    @RateLimit(0.001, 1)
    @Get('own')
    own() {
      return 'ok';
    }

    @RateLimit({ name: 'extra', rate: 0.001, capacity: 2 })
    @Get('both')
    both() {
      return 'ok';
    }

    @Get('theirs')
    theirs() {
      return 'ok';
    }

    @SkipRateLimit()
    @Get('free')
    free() {
      return 'ok';
    }

    @SkipRateLimit('default')
    @Get('named')
    named() {
      return 'ok';
    }
  }

  const start = (throttlers: ThrottlerModuleOptions, options = {}) =>
    startApp({
      imports: [
        ThrottlerModule.forRoot(throttlers),
        RateLimitModule.forRoot({ throttlerCompat: true, ...options }),
      ],
      controllers: [MixedController],
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
    });

  it('an own limit takes the place of the throttler of its name, and adds to the others', async () => {
    const app = await start([{ ttl: HOUR, limit: 3 }]);
    expect(await app.statuses(2, '/mixed/own')).toEqual([200, 429]);
    expect(await app.statuses(3, '/mixed/both')).toEqual([200, 200, 429]);
    expect(await app.statuses(5, '/mixed/free')).toEqual([200, 200, 200, 200, 200]);
    expect(await app.statuses(5, '/mixed/named')).toEqual([200, 200, 200, 200, 200]);
  });

  it('a refusal charges none of the throttlers, and Retry-After has its own name', async () => {
    const app = await start([
      { name: 'short', ttl: 1000, limit: 1 },
      { name: 'Per Day!', ttl: 24 * HOUR, limit: 3 },
    ]);
    const answers = [await app.get('/mixed/both')];
    for (let i = 0; i < 20; i++) answers.push(await app.get('/mixed/both'));
    const { headers } = answers.at(-1) as (typeof answers)[number];
    expect(headers['retry-after']).toBe('1');
    expect(headers['ratelimit']).toMatch(/"per-day-";r=[12]/);
  });

  it('ignores an agent each time, also by a pattern with the flag g', async () => {
    const app = await start({ ignoreUserAgents: [/bot/gi], throttlers: [{ ttl: HOUR, limit: 1 }] });
    const bot = { 'user-agent': 'Bot/1' };
    expect(await app.statuses(4, '/mixed/both', bot)).toEqual([200, 200, 429, 429]);
    // Those are refused by the own limit alone: nothing was charged to the throttler.
    expect((await app.get('/mixed/both', bot)).headers['ratelimit']).not.toContain('default');
  });

  it('blockDuration blocks nobody, and the start says so', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const app = await start([{ ttl: 1000, limit: 1, blockDuration: HOUR }]);
    expect(warn.mock.calls.flat().filter((each) => String(each).includes('blockDuration'))).toEqual(
      [expect.stringContaining('throttlerCompat: blockDuration of "default" is not used')],
    );
    warn.mockRestore();
    expect(await app.statuses(2, '/mixed/theirs')).toEqual([200, 429]);
    await delay(1000);
    expect((await app.get('/mixed/theirs')).status).toBe(200);
  });

  it.each<[string, ThrottlerModuleOptions | undefined, object, string]>([
    ['no ThrottlerModule', undefined, {}, 'throttlerCompat needs the throttlers'],
    [
      'a limit of 0',
      [{ ttl: 1000, limit: 0 }],
      {},
      'MixedController.own: throttler "default": limit 0',
    ],
    ['no ttl', [{ ttl: 0, limit: 1 }], {}, 'ttl 0 is not a number of ms above 0'],
    ['text', [{ ttl: 'x' as never, limit: 1 }], {}, 'ttl "x"'],
    [
      'two of one name',
      [
        { name: 'a', ttl: 1, limit: 1 },
        { name: 'A', ttl: 1, limit: 1 },
      ],
      {},
      'two throttlers are named "a"',
    ],
    ['no boolean', [{ ttl: 1000, limit: 1 }], { throttlerCompat: 'yes' }, 'throttlerCompat "yes"'],
  ])('refuses %s at the start', async (_, throttlers, options, message) => {
    const started = startApp({
      imports: [
        ...(throttlers === undefined ? [] : [ThrottlerModule.forRoot(throttlers)]),
        RateLimitModule.forRoot({ throttlerCompat: true, ...options }),
      ],
      controllers: [MixedController],
    });
    await expect(started).rejects.toThrow(message);
  });
});
