// Trial B79: several registrations of the module live side by side; a route is limited by the one its module sees.
import { Controller, Get, Inject, Module, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  getStoreToken,
  InvalidLimitError,
  MemoryStore,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitStore,
} from 'nest-rate-limit';
import { ADAPTERS, buildApp, closeApps, startApp, times } from '../support/nest-app';

afterEach(closeApps);

function twoModules() {
  const stores = { a: new MemoryStore(), b: new MemoryStore() };
  @Controller('a')
  @UseGuards(RateLimitGuard)
  class A {
    constructor(@Inject(RateLimiterService) readonly limiter: RateLimiterService) {}
    @Get('search')
    @RateLimit('search')
    search() {
      return 'ok';
    }
    @Get('only-here')
    @RateLimit('only-a')
    onlyHere() {
      return 'ok';
    }
  }
  @Controller('b')
  @UseGuards(RateLimitGuard)
  class B {
    constructor(@Inject(RateLimiterService) readonly limiter: RateLimiterService) {}
    @Get('search')
    @RateLimit('search')
    search() {
      return 'ok';
    }
    @Get('only-here')
    @RateLimit('only-b')
    onlyHere() {
      return 'ok';
    }
  }
  @Module({
    imports: [
      RateLimitModule.forRoot({
        isGlobal: false,
        store: stores.a,
        keyPrefix: 'a',
        policies: { search: { rate: 0.001, capacity: 1 }, 'only-a': { rate: 0.001, capacity: 2 } },
      }),
    ],
    controllers: [A],
  })
  class AModule {}
  @Module({
    imports: [
      RateLimitModule.forRoot({
        isGlobal: false,
        store: stores.b,
        keyPrefix: 'b',
        policies: { search: { rate: 0.001, capacity: 99 }, 'only-b': { rate: 0.001, capacity: 3 } },
      }),
    ],
    controllers: [B],
  })
  class BModule {}
  return { A, B, AModule, BModule, stores };
}

describe.each(ADAPTERS)('B79 on %s', (_, adapter) => {
  it('each route uses the numbers and the store of its own module', async () => {
    const { AModule, BModule, A, B, stores } = twoModules();
    const app = await startApp({ imports: [AModule, BModule] }, { adapter });
    expect(await app.statuses(2, '/a/search')).toEqual([200, 429]);
    const answers = await Promise.all(
      times(20, ['/a/search', '/b/search'])
        .flat()
        .map((path) => app.get(path)),
    );
    const limits = answers.map(({ headers }) => headers['x-ratelimit-limit']);
    expect(limits).toEqual(times(20, ['1', '99']).flat());
    expect(await app.statuses(3, '/a/only-here')).toEqual([200, 200, 429]);
    expect(await app.statuses(4, '/b/only-here')).toEqual([200, 200, 200, 429]);
    expect([stores.a.size, stores.b.size]).toEqual([2, 2]);
    const limiterA = app.nest.get(A).limiter;
    const limiterB = app.nest.get(B).limiter;
    expect(limiterA.routes().map(({ handler }) => handler)).toEqual(['A.search', 'A.onlyHere']);
    expect(limiterB.routes().map(({ handler }) => handler)).toEqual(['B.search', 'B.onlyHere']);
  });

  it('a guard bound for the whole application asks the module of the route', async () => {
    const { AModule, BModule, stores } = twoModules();
    @Controller('root')
    class Root {
      @Get()
      get() {
        return 'ok';
      }
    }
    const app = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({ keyPrefix: 'root', limit: { rate: 0.001, capacity: 4 } }),
          AModule,
          BModule,
        ],
        controllers: [Root],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
      },
      { adapter },
    );
    expect(await app.statuses(3, '/a/only-here')).toEqual([200, 200, 429]);
    expect(await app.statuses(4, '/b/only-here')).toEqual([200, 200, 200, 429]);
    expect(await app.statuses(5, '/root')).toEqual([200, 200, 200, 200, 429]);
    expect([stores.a.size, stores.b.size]).toEqual([1, 1]);
  });

  it('a re-exported registration is seen by who imports the module that exports it', async () => {
    const registration = RateLimitModule.forRoot({
      isGlobal: false,
      policies: { shared: { rate: 0.001, capacity: 1 } },
    });
    @Module({ imports: [registration], exports: [RateLimitModule] })
    class SharedModule {}
    @Controller('c')
    @UseGuards(RateLimitGuard)
    class C {
      @Get()
      @RateLimit('shared')
      get() {
        return 'ok';
      }
    }
    @Module({ imports: [SharedModule], controllers: [C] })
    class CModule {}
    const { AModule } = twoModules();
    const app = await startApp({ imports: [CModule, AModule] }, { adapter });
    expect(await app.statuses(2, '/c')).toEqual([200, 429]);
  });

  it('one registration imported in several places is one', async () => {
    const registration = RateLimitModule.forRoot({ limit: { rate: 0.001, capacity: 1 } });
    @Module({ imports: [registration] })
    class One {}
    @Controller()
    @UseGuards(RateLimitGuard)
    class Root {
      @Get()
      get() {
        return 'ok';
      }
    }
    const app = await startApp({ imports: [registration, One], controllers: [Root] }, { adapter });
    expect(await app.statuses(2, '/')).toEqual([200, 429]);
  });
});

it('two global registrations stop the start and say what to do', async () => {
  const build = buildApp({ imports: [RateLimitModule.forRoot(), RateLimitModule.forRoot()] });
  await expect(build).rejects.toThrow(InvalidLimitError);
  await expect(build).rejects.toThrow('imported twice as a global module');
});

it('does not close a store that was handed in', async () => {
  const close = jest.fn();
  const store: RateLimitStore = Object.assign(new MemoryStore(), { close });
  const nest = await buildApp({ imports: [RateLimitModule.forRoot({ store })] });
  expect(await nest.get(RateLimiterService).consume('k', { rate: 1 })).toMatchObject({
    allowed: true,
    source: 'memory',
  });
  await nest.close();
  expect(close).not.toHaveBeenCalled();
});

it('gives the store by its token, and lets tests override it', async () => {
  const store = new MemoryStore();
  const nest = await buildApp({ imports: [RateLimitModule.forRoot({ store })] });
  expect(nest.get<RateLimitStore>(getStoreToken())).toBe(store);
});
