// The eight rules of the contract, one block each, over real HTTP.
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Head,
  Injectable,
  type ModuleMetadata,
  Post,
  type Type,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  allOf,
  byBody,
  byHeader,
  byIp,
  byUser,
  type Caller,
  type CallOutcome,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nest-rate-limit';
import { ADAPTERS, type App, buildApp, closeApps, startApp, times } from '../support/nest-app';

const SLOW = 0.001;
const key = byHeader('x-key');

function guarded(
  controllers: Type[],
  options: RateLimitModuleOptions = {},
): ModuleMetadata & { controllers: Type[] } {
  return {
    imports: [RateLimitModule.forRoot(options)],
    controllers,
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

afterEach(closeApps);

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  const start = (controllers: Type[], options?: RateLimitModuleOptions) =>
    startApp(guarded(controllers, options), { adapter });

  describe('rule 1: a bucket is (policy name, scope, key)', () => {
    class Base {
      @Get('inherited')
      @RateLimit(SLOW, 2)
      inherited() {
        return 'ok';
      }
    }
    @Controller('one')
    class One extends Base {
      @Get('search')
      @RateLimit('search')
      search() {
        return 'ok';
      }
      @Get('inline')
      @RateLimit(SLOW, 2)
      inline() {
        return 'ok';
      }
      @Get(['path-a', 'path-b'])
      @RateLimit(SLOW, 2)
      twoPaths() {
        return 'ok';
      }
      @Get('mine')
      @RateLimit({ rate: SLOW, capacity: 2, scope: 'shared' })
      mine() {
        return 'ok';
      }
      @Get('class')
      @RateLimit({ rate: SLOW, capacity: 2, scope: 'controller' })
      ofClass() {
        return 'ok';
      }
      @Get('class-too')
      @RateLimit({ rate: SLOW, capacity: 2, scope: 'controller' })
      ofClassToo() {
        return 'ok';
      }
    }
    @Controller('two')
    class Two extends Base {
      @Get('search')
      @RateLimit('search')
      search() {
        return 'ok';
      }
      @Get('mine')
      @RateLimit({ rate: SLOW, capacity: 2, scope: 'shared' })
      mine() {
        return 'ok';
      }
      @Get('class')
      @RateLimit({ rate: SLOW, capacity: 2, scope: 'controller' })
      ofClass() {
        return 'ok';
      }
    }
    let app: App;
    beforeEach(async () => {
      app = await start([One, Two], { policies: { search: { rate: SLOW, capacity: 2 } } });
    });

    it('a named policy has one bucket a key over all routes and the service', async () => {
      expect(await app.statuses(1, '/one/search')).toEqual([200]);
      const limiter = app.nest.get(RateLimiterService);
      expect((await limiter.consume('ip:127.0.0.1', 'search')).remaining).toBe(0);
      expect(await app.statuses(1, '/two/search')).toEqual([429]);
      expect((await limiter.consume('ip:127.0.0.2', 'search')).allowed).toBe(true);
    });

    it('an inline limit has one bucket a handler, inherited handlers one a class', async () => {
      expect(await app.statuses(3, '/one/inline')).toEqual([200, 200, 429]);
      expect(await app.statuses(3, '/one/inherited')).toEqual([200, 200, 429]);
      expect(await app.statuses(3, '/two/inherited')).toEqual([200, 200, 429]);
    });

    it('several paths of a handler, a trailing slash and HEAD are one handler', async () => {
      expect(await app.statuses(1, '/one/path-a')).toEqual([200]);
      expect((await app.call('HEAD', '/one/path-b')).status).toBe(200);
      expect(await app.statuses(1, '/one/path-a')).toEqual([429]);
    });

    it('a scope of one’s own, or the class, is shared as said', async () => {
      expect(await app.statuses(2, '/one/mine')).toEqual([200, 200]);
      expect(await app.statuses(1, '/two/mine')).toEqual([429]);
      expect(await app.statuses(2, '/one/class')).toEqual([200, 200]);
      expect(await app.statuses(1, '/one/class-too')).toEqual([429]);
      expect(await app.statuses(1, '/two/class')).toEqual([200]);
    });

    it('a key carries its kind: the API key 127.0.0.1 is not the address', async () => {
      @Controller()
      class Kinds {
        @Get('ip')
        @RateLimit({ rate: SLOW, capacity: 1, scope: 'app', key: byIp() })
        ip() {
          return 'ok';
        }
        @Get('key')
        @RateLimit({ rate: SLOW, capacity: 1, scope: 'app', key: byHeader('x-key') })
        key() {
          return 'ok';
        }
      }
      const kinds = await start([Kinds]);
      expect(await kinds.statuses(1, '/ip')).toEqual([200]);
      expect(await kinds.statuses(1, '/key', { 'x-key': '127.0.0.1' })).toEqual([200]);
      expect(await kinds.statuses(1, '/ip')).toEqual([429]);
    });
  });

  describe('rule 2: limits of class and method add up, a method’s name replaces the class’s', () => {
    @Controller()
    @RateLimit({ name: 'wide', rate: SLOW, capacity: 5, scope: 'controller' })
    @RateLimit({ name: 'narrow', rate: SLOW, capacity: 1 })
    @RateLimit({ name: 'narrow', rate: SLOW, capacity: 4, tier: 'pro' })
    class Routes {
      @Get('plain')
      plain() {
        return 'ok';
      }
      @Get('adds')
      @RateLimit({ name: 'own', rate: SLOW, capacity: 9 })
      adds() {
        return 'ok';
      }
      @Get('replaces')
      @RateLimit({ name: 'narrow', rate: SLOW, capacity: 2 })
      replaces() {
        return 'ok';
      }
    }
    const tierOf = (caller: Caller) => caller.headers['x-tier'] as string | undefined;

    it('adds up', async () => {
      const app = await start([Routes], { tierOf, key });
      const policies = app.nest
        .get(RateLimiterService)
        .routes()
        .map(({ handler, policies: list }) => [handler, list.map(({ name }) => name)]);
      expect(policies).toEqual([
        ['Routes.plain', ['wide', 'narrow']],
        ['Routes.adds', ['wide', 'narrow', 'own']],
        ['Routes.replaces', ['wide', 'narrow']],
      ]);
      expect(await app.statuses(2, '/plain', { 'x-key': 'a' })).toEqual([200, 429]);
    });

    it('replaces all variants of the name', async () => {
      const app = await start([Routes], { tierOf, key });
      const pro = { 'x-key': 'a', 'x-tier': 'pro' };
      expect(await app.statuses(3, '/replaces', pro)).toEqual([200, 200, 429]);
    });

    it('is worked out once a handler', async () => {
      const app = await start([Routes], { tierOf, key });
      const metadata = jest.spyOn(Reflect, 'getOwnMetadata');
      const keys = () => metadata.mock.calls.filter(([name]) => typeof name === 'symbol');
      await app.statuses(2, '/plain', { 'x-key': 'a' });
      expect(keys()).toEqual([]);
      metadata.mockRestore();
    });
  });

  describe('rule 3: the caller’s tier picks, then the untiered variant, then the tier table', () => {
    @Controller()
    class Routes {
      @Get('variants')
      @RateLimit(SLOW, 1)
      @RateLimit(SLOW, 3, 'pro')
      @RateLimit(SLOW, 4, ['gold', 'platinum'])
      variants() {
        return 'ok';
      }
      @Get('fallback')
      @RateLimit(SLOW, 4, 'pro')
      fallback() {
        return 'ok';
      }
      @Get('table')
      @RateLimit()
      table() {
        return 'ok';
      }
    }
    const options: RateLimitModuleOptions = {
      key,
      tierOf: async (caller) => caller.headers['x-tier'] as string,
      tiers: {
        free: { rate: SLOW, capacity: 2 },
        pro: { rate: SLOW, capacity: 6 },
        gold: { rate: SLOW, capacity: 7 },
        platinum: { rate: SLOW, capacity: 7 },
      },
    };
    const as = (tier?: string) => ({
      'x-key': tier ?? 'nobody',
      ...(tier !== undefined && { 'x-tier': tier }),
    });
    const burst = async (app: App, path: string, tier?: string) =>
      (await app.statuses(9, path, as(tier))).filter((status) => status === 200).length;

    it('picks', async () => {
      const app = await start([Routes], options);
      expect(await burst(app, '/variants', 'pro')).toBe(3);
      expect(await burst(app, '/variants', 'gold')).toBe(4);
      expect(await burst(app, '/variants', 'platinum')).toBe(4);
      expect(await burst(app, '/variants', 'free')).toBe(1);
      expect(await burst(app, '/variants')).toBe(1);
    });

    it('falls back to the table; an unknown tier gets the strictest row, never no limit', async () => {
      const app = await start([Routes], options);
      expect(await burst(app, '/fallback', 'pro')).toBe(4);
      expect(await burst(app, '/fallback', 'made-up')).toBe(2);
      expect(await burst(app, '/table', 'gold')).toBe(7);
      expect(await burst(app, '/table')).toBe(2);
    });

    it('an unknown or missing tier is the default tier, also where that has a variant', async () => {
      @Controller()
      class Free {
        @Get()
        @RateLimit(SLOW, 5)
        @RateLimit(SLOW, 1, 'free')
        get() {
          return 'ok';
        }
      }
      const app = await start([Free], options);
      expect(await burst(app, '/')).toBe(1);
      expect(await burst(app, '/', 'made-up')).toBe(1);
      expect(await burst(app, '/', 'pro')).toBe(5);
    });

    it('@RateLimit() is the bucket of undecorated routes and of the service', async () => {
      @Controller()
      class Undecorated {
        @Get('undecorated')
        get() {
          return 'ok';
        }
      }
      const app = await start([Routes, Undecorated], options);
      expect(await app.statuses(1, '/table', as('pro'))).toEqual([200]);
      expect(await app.statuses(1, '/undecorated', as('pro'))).toEqual([200]);
      const limiter = app.nest.get(RateLimiterService);
      const bucket = await limiter.getInfo('header:x-key:pro', { tier: 'pro' });
      expect(bucket).toEqual({ available: 4, rate: SLOW, capacity: 6 });
    });

    it('stops the start without any fallback', async () => {
      const { tiers: _tiers, ...without } = options;
      await expect(buildApp(guarded([Routes], without), { adapter })).rejects.toThrow(
        'Routes.fallback: tier "pro" has numbers for "default", but nobody else has',
      );
    });

    it('stops the start for a name that is both policy and tier', async () => {
      const both = { ...options, policies: { free: { rate: 1 } } };
      await expect(buildApp(guarded([Routes], both), { adapter })).rejects.toThrow(
        'RateLimitModule: tiers.free: "free" is the name of a policy as well',
      );
    });
  });

  describe('rule 4: all limits of a request are charged together, or none', () => {
    @Controller()
    class Routes {
      @Get('both')
      @RateLimit('a')
      @RateLimit('b')
      both() {
        return 'ok';
      }
      @Get('a')
      @RateLimit('a')
      a() {
        return 'ok';
      }
    }
    it('leaves the others untouched when one refuses', async () => {
      const app = await start([Routes], {
        policies: { a: { rate: SLOW, capacity: 10 }, b: { rate: SLOW, capacity: 2 } },
      });
      expect(await app.statuses(8, '/both')).toEqual([200, 200, ...times(6, 429)]);
      const answer = await app.get('/a');
      expect(answer.headers['x-ratelimit-remaining']).toBe('7');
    });

    it('decides shadow limits beside: they neither refuse nor are held back', async () => {
      const app = await start([Routes], {
        policies: {
          a: { rate: SLOW, capacity: 3 },
          b: { rate: SLOW, capacity: 1, mode: 'shadow' },
        },
      });
      const denied: string[] = [];
      app.nest.get(RateLimiterService).events.on('denied', ({ policy }, { shadow }) => {
        denied.push(`${policy} ${shadow ? 'shadow' : 'enforced'}`);
      });
      expect(await app.statuses(4, '/both')).toEqual([200, 200, 200, 429]);
      // Beside each other: in which order they are told is not promised.
      expect(denied.toSorted()).toEqual(['a enforced', ...times(3, 'b shadow')]);
      expect((await app.get('/both')).headers['ratelimit-policy']).toBe('"a";q=3;w=3000');
    });

    it('a shadow that could never be met denies nobody', async () => {
      @Controller()
      class Dear {
        @Get()
        @RateLimit({ rate: SLOW, capacity: 1, cost: () => 2, mode: 'shadow' })
        get() {
          return 'ok';
        }
      }
      expect(await (await start([Dear])).statuses(2, '/')).toEqual([200, 200]);
    });
  });

  describe('rule 5: the guard charges once an invocation', () => {
    @Injectable()
    class Auth implements CanActivate {
      canActivate(context: ExecutionContext) {
        const request = context.switchToHttp().getRequest<{
          headers: Record<string, string>;
          user?: object;
        }>();
        if (request.headers.user === undefined) throw new UnauthorizedException();
        request.user = { id: request.headers.user };
        return true;
      }
    }
    class SubGuard extends RateLimitGuard {}

    @Controller()
    @UseGuards(RateLimitGuard)
    class Bound {
      @Get()
      @RateLimit(SLOW, 10)
      @UseGuards(RateLimitGuard, SubGuard)
      bound() {
        return 'ok';
      }
    }

    it('bound for the application, the class and the method, and as a subclass', async () => {
      const app = await start([Bound]);
      for (let left = 9; left >= 0; left--) {
        expect((await app.get('/')).headers['x-ratelimit-remaining']).toBe(`${left}`);
      }
      expect((await app.get('/')).status).toBe(429);
    });

    it('only(…) charges its names, a plain guard later the rest; one set of headers', async () => {
      @Controller()
      @UseGuards(RateLimitGuard.only('ip'), Auth, RateLimitGuard)
      class Routes {
        @Get()
        @RateLimit({ name: 'user', rate: SLOW, capacity: 2, key: byUser('id') })
        get() {
          return 'ok';
        }
      }
      const app = await startApp(
        {
          imports: [
            RateLimitModule.forRoot({
              always: { name: 'ip', rate: SLOW, capacity: 5, key: byIp() },
            }),
          ],
          controllers: [Routes],
        },
        { adapter },
      );
      const anonymous = await app.get('/');
      expect(anonymous.status).toBe(401);
      expect(anonymous.headers['ratelimit-policy']).toBe('"ip";q=5;w=5000');
      const ada = await app.get('/', { user: 'ada' });
      expect(ada.status).toBe(200);
      expect(ada.headers['ratelimit-policy']).toBe('"ip";q=5;w=5000, "user";q=2;w=2000');
      expect(ada.headers.ratelimit).toBe('"ip";r=3;t=2000, "user";r=1;t=1000');
      expect(await app.statuses(2, '/', { user: 'ada' })).toEqual([200, 429]);
      // The refusal of the second guard came after the first had charged.
      expect(await app.statuses(2, '/', { user: 'bob' })).toEqual([200, 429]);
    });
  });

  describe('rule 7: a missing key is an error, never a shared bucket', () => {
    @Controller()
    class Routes {
      @Get('user')
      @RateLimit({ rate: SLOW, capacity: 1, key: byUser() })
      user() {
        return 'ok';
      }
      @Get('header')
      @RateLimit({ rate: SLOW, capacity: 1, key: byHeader('x-api-key') })
      header() {
        return 'ok';
      }
      @Post('body')
      @RateLimit({ rate: SLOW, capacity: 1, key: allOf(byBody('email'), byIp()) })
      body() {
        return 'ok';
      }
      @Get('throws')
      @RateLimit({
        rate: SLOW,
        capacity: 1,
        key: () => {
          throw new Error('the password is hunter2');
        },
      })
      throws() {
        return 'ok';
      }
      @Get('rejects')
      @RateLimit({
        rate: SLOW,
        capacity: 1,
        key: () => Promise.reject(Object.assign(new Error('hunter2'), { statusCode: 404 })),
      })
      rejects() {
        return 'ok';
      }
      @Head('unrelated')
      unrelated() {}
    }

    it('is 401 for a user, 400 for anything else', async () => {
      const app = await start([Routes]);
      expect(await app.get('/user')).toMatchObject({
        status: 401,
        body: { statusCode: 401, error: 'Unauthorized' },
      });
      expect(await app.get('/header')).toMatchObject({
        status: 400,
        body: {
          statusCode: 400,
          error: 'Bad Request',
          message: 'no key to limit this call by: the request has no header "x-api-key"',
        },
      });
      expect((await app.call('POST', '/body', { body: { email: 7n.toString() } })).status).toBe(
        201,
      );
      expect((await app.call('POST', '/body', { body: {} })).status).toBe(400);
      expect(await app.statuses(3, '/header')).toEqual([400, 400, 400]);
      expect(await app.statuses(1, '/header', { 'x-api-key': 'k' })).toEqual([200]);
    });

    it('a resolver that throws is a 500 that tells nothing', async () => {
      const app = await start([Routes]);
      for (const path of ['/throws', '/rejects']) {
        const answer = await app.get(path);
        expect(answer.status).toBe(500);
        expect(answer.body).toEqual({ statusCode: 500, message: 'Internal server error' });
      }
    });
  });

  describe('rule 8: chargeOn settles by how the call ends', () => {
    it.each([
      ['success', [200, 429]],
      ['failure', [200, 200, 200]],
      [({ statusCode }: CallOutcome) => statusCode === 200, [200, 429]],
    ] as const)('%s', async (chargeOn, statuses) => {
      @Controller()
      class Routes {
        @Get()
        @RateLimit({ rate: SLOW, capacity: 1, chargeOn })
        get() {
          return 'ok';
        }
      }
      const app = await start([Routes]);
      for (const status of statuses) {
        expect((await app.get('/')).status).toBe(status);
        // Given back a moment after the answer.
        await delay(50);
      }
    });

    it('"always" is the default', async () => {
      @Controller()
      class Routes {
        @Get()
        @RateLimit({ rate: SLOW, capacity: 1, chargeOn: 'always' })
        get() {
          return 'ok';
        }
      }
      expect(await (await start([Routes])).statuses(2, '/')).toEqual([200, 429]);
    });
  });
});
