// Trial B43: exemptions and overrides between module, class, subclass and method.
import { Controller, Get, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nest-rate-limit';
import { ADAPTERS, buildApp, closeApps, startApp } from '../support/nest-app';

const OPTIONS: RateLimitModuleOptions = {
  limit: { rate: 0.001, capacity: 50 },
  always: { name: 'ip', rate: 0.001, capacity: 100 },
  policies: {
    short: { rate: 0.001, capacity: 20 },
    long: { rate: 0.001, capacity: 30 },
  },
};

@Controller('base')
@RateLimit('short')
@RateLimit('long')
class Base {
  @Get('plain')
  plain() {
    return 'ok';
  }
  @Get('all')
  @SkipRateLimit()
  all() {
    return 'ok';
  }
  @Get('one')
  @SkipRateLimit('short')
  one() {
    return 'ok';
  }
  @Get('ip')
  @SkipRateLimit('ip', 'long')
  ip() {
    return 'ok';
  }
  @Get('tight')
  @RateLimit({ name: 'short', rate: 0.001, capacity: 1 })
  tight() {
    return 'ok';
  }
}

@Controller('inherits')
class Inherits extends Base {}

@Controller('overrides')
@RateLimit({ name: 'short', rate: 0.001, capacity: 7 })
class Overrides extends Base {
  @Get('one')
  override one() {
    return 'ok';
  }
}

@Controller('freed')
@SkipRateLimit()
class Freed extends Base {
  @Get('limited')
  @RateLimit({ name: 'own', rate: 0.001, capacity: 3 })
  limited() {
    return 'ok';
  }
  @Get('free')
  free() {
    return 'ok';
  }
}

@Controller('limited-again')
@RateLimit({ name: 'again', rate: 0.001, capacity: 4 })
class LimitedAgain extends Freed {}

@Controller('undecorated')
class Undecorated {
  @Get()
  get() {
    return 'ok';
  }
  @Get('no-default')
  @SkipRateLimit('default')
  noDefault() {
    return 'ok';
  }
  @Get('other')
  @SkipRateLimit('short')
  other() {
    return 'ok';
  }
}

const CONTROLLERS: Type[] = [Base, Inherits, Overrides, Freed, LimitedAgain, Undecorated];

function metadata(options: RateLimitModuleOptions = OPTIONS) {
  return {
    imports: [RateLimitModule.forRoot(options)],
    controllers: CONTROLLERS,
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

afterEach(closeApps);

describe('B43: the effective limits', () => {
  it.each([
    ['/base/plain', 'ip 100, short 20, long 30'],
    ['/base/all', ''],
    ['/base/one', 'ip 100, long 30'],
    ['/base/ip', 'short 20'],
    ['/base/tight', 'ip 100, short 1, long 30'],
    ['/inherits/plain', 'ip 100, short 20, long 30'],
    ['/inherits/all', ''],
    ['/inherits/tight', 'ip 100, short 1, long 30'],
    ['/overrides/plain', 'ip 100, short 7, long 30'],
    ['/overrides/one', 'ip 100, short 7, long 30'],
    ['/overrides/tight', 'ip 100, short 1, long 30'],
    ['/freed/plain', ''],
    ['/freed/free', ''],
    ['/freed/limited', 'ip 100, own 3'],
    ['/freed/tight', 'ip 100, short 1'],
    ['/limited-again/plain', 'ip 100, again 4'],
    ['/limited-again/limited', 'ip 100, again 4, own 3'],
    ['/undecorated', 'ip 100, default 50'],
    ['/undecorated/no-default', 'ip 100'],
    ['/undecorated/other', 'ip 100, default 50'],
  ])('%s: %s', async (path, expected) => {
    const nest = await buildApp(metadata());
    const route = nest
      .get(RateLimiterService)
      .routes()
      .find(({ paths }) => paths.includes(path));
    const limits = route?.policies.map(({ name, capacity }) => `${name} ${capacity}`);
    expect(limits?.join(', ')).toBe(expected);
  });
});

describe.each(ADAPTERS)('B43 on %s', (_, adapter) => {
  it('a bare skip frees of everything and says nothing in the headers', async () => {
    const app = await startApp(metadata(), { adapter });
    const { status, headers } = await app.get('/base/all');
    expect(status).toBe(200);
    expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
  });

  it('a limited method in a skipped class is limited', async () => {
    const app = await startApp(metadata(), { adapter });
    expect(await app.statuses(4, '/freed/limited')).toEqual([200, 200, 200, 429]);
  });

  it('a method’s 1 beats the class’s 20, and the subclass has a bucket of its own', async () => {
    const app = await startApp(metadata(), { adapter });
    expect(await app.statuses(2, '/base/tight')).toEqual([200, 429]);
    expect(await app.statuses(2, '/inherits/tight')).toEqual([200, 429]);
    expect(await app.statuses(1, '/base/plain')).toEqual([200]);
  });

  it('undecorated routes share one bucket a caller', async () => {
    const app = await startApp(
      metadata({
        limit: { rate: 0.001, capacity: 2 },
        policies: OPTIONS.policies,
        always: OPTIONS.always,
      }),
      { adapter },
    );
    expect(await app.statuses(1, '/undecorated')).toEqual([200]);
    expect(await app.statuses(1, '/undecorated/other')).toEqual([200]);
    expect(await app.statuses(1, '/undecorated')).toEqual([429]);
  });

  it('skip functions exempt a call of the module, or of one limit', async () => {
    @Controller()
    class Routes {
      @Get()
      @RateLimit({
        name: 'mine',
        rate: 0.001,
        capacity: 1,
        skip: async ({ headers }) => headers['x-friend'] === 'yes',
      })
      get() {
        return 'ok';
      }
    }
    const app = await startApp(
      {
        imports: [
          RateLimitModule.forRoot({
            always: { name: 'ip', rate: 0.001, capacity: 3 },
            skip: ({ headers }) => headers['x-admin'] === 'yes',
          }),
        ],
        controllers: [Routes],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
      },
      { adapter },
    );
    expect(await app.statuses(2, '/')).toEqual([200, 429]);
    const friend = await app.get('/', { 'x-friend': 'yes' });
    expect(friend.headers['ratelimit-policy']).toBe('"ip";q=3;w=3000');
    expect(await app.statuses(2, '/', { 'x-friend': 'yes' })).toEqual([200, 429]);
    expect(await app.statuses(3, '/', { 'x-admin': 'yes' })).toEqual([200, 200, 200]);
  });

  it('a cost of 0 skips the limit for the call; a cost beyond the capacity is a 413', async () => {
    @Controller()
    class Routes {
      @Get()
      @RateLimit({ rate: 0.001, capacity: 5, cost: ({ query }) => Number(query.cost) })
      get() {
        return 'ok';
      }
    }
    const app = await startApp(
      {
        imports: [RateLimitModule.forRoot()],
        controllers: [Routes],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
      },
      { adapter },
    );
    const free = await app.get('/?cost=0');
    expect(free.status).toBe(200);
    expect(free.headers['x-ratelimit-limit']).toBeUndefined();
    expect(await app.get('/?cost=6')).toMatchObject({
      status: 413,
      body: {
        statusCode: 413,
        error: 'Payload Too Large',
        message:
          'cost 6 is more than the capacity 5 of policy "default": raise the capacity or split the call',
      },
    });
    for (const bad of ['-1', 'x', 'Infinity']) {
      expect(await app.get(`/?cost=${bad}`)).toMatchObject({
        status: 500,
        body: { statusCode: 500, message: 'Internal server error' },
      });
    }
    const whole = await app.get('/?cost=4.5');
    expect(whole.headers['x-ratelimit-remaining']).toBe('0');
    expect(await app.get('/?cost=3')).toMatchObject({
      status: 429,
      body: {
        detail: 'Policy "default" has 0 left and the call costs 3. Retry in 2500 s.',
        cost: 3,
      },
    });
  });
});
