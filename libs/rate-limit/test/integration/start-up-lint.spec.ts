// Each warning of the start: said once, with the place and the remedy, where the mistake is; and not said where it is not.
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  type Provider,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import {
  allOf,
  byIp,
  byTenant,
  byUser,
  ConcurrencyLimit,
  firstOf,
  type KeyResolver,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptions,
  SkipRateLimit,
} from 'nest-rate-limit';
import { buildApp, closeApps, startApp, times } from '../support/nest-app';
import { collectWarnings } from '../support/start-up-warnings';

const GUARD: Provider = { provide: APP_GUARD, useClass: RateLimitGuard };
const LIMIT = { rate: 10, capacity: 20 };

@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    context.switchToHttp().getRequest<{ user?: object }>().user = { id: 1 };
    return true;
  }
}

/** A controller with one limited route. */
function route(options: RateLimitOptions = LIMIT, ...guards: Type<CanActivate>[]): Type {
  @Controller()
  class Routes {
    @Get()
    @UseGuards(...guards)
    @RateLimit(options)
    get() {
      return 'ok';
    }
  }
  return Routes;
}

@Controller()
class PlainRoutes {
  @Get()
  get() {
    return 'ok';
  }
}

interface Parts {
  readonly options?: RateLimitModuleOptions;
  readonly controllers?: Type[];
  readonly providers?: Provider[];
}

const metadataOf = ({ options = {}, controllers = [route()], providers = [GUARD] }: Parts) => ({
  imports: [RateLimitModule.forRoot(options)],
  controllers,
  providers,
});

let warnings: string[];
beforeEach(() => (warnings = collectWarnings()));
afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
});

async function warningsOf(parts: Parts): Promise<string[]> {
  await buildApp(metadataOf(parts));
  return warnings;
}

it('says nothing of throttlers, whose numbers are what they are', async () => {
  const throttlers = [{ name: 'default', ttl: 1000, limit: 10 }];
  const { imports, ...rest } = metadataOf({
    options: { throttlerCompat: true },
    controllers: [PlainRoutes],
  });
  await buildApp({ imports: [ThrottlerModule.forRoot(throttlers), ...imports], ...rest });
  expect(warnings).toEqual([]);
});

it('says nothing of an application that is in order', async () => {
  expect(await warningsOf({})).toEqual([]);
});

describe('the guard bound twice', () => {
  @Injectable()
  class StricterGuard extends RateLimitGuard {}

  it.each<[string, Parts, RegExp]>([
    ['globally', { providers: [GUARD, GUARD] }, /globally, twice/],
    [
      'globally and on a method',
      { controllers: [route(LIMIT, RateLimitGuard)] },
      /Routes\.get \(globally and on the method\)/,
    ],
    ['as a subclass', { controllers: [route(LIMIT, StricterGuard)] }, /Routes\.get/],
    [
      'for the same names',
      {
        controllers: [route(LIMIT, RateLimitGuard.only('default'), RateLimitGuard.only('default'))],
        providers: [],
      },
      /Routes\.get \(on the method\)/,
    ],
  ])('%s', async (_, parts, place) => {
    const [line, ...others] = await warningsOf(parts);
    expect(line).toMatch(/^RateLimitGuard is bound more than once: .*bind it once/);
    expect(line).toMatch(place);
    expect(others).toEqual([]);
  });

  it('made by hand for the whole application, beside APP_GUARD', async () => {
    await buildApp(metadataOf({}), {
      prepare: (nest) => nest.useGlobalGuards(nest.get(RateLimitGuard)),
    });
    expect(warnings).toEqual([expect.stringContaining('globally, twice')]);
  });

  it('not: one for a name, and later one for the rest', async () => {
    const providers = [{ provide: APP_GUARD, useClass: RateLimitGuard.only('default') }, GUARD];
    expect(await warningsOf({ providers })).toEqual([]);
  });
});

describe('a limit by user before authentication', () => {
  const USER = { ...LIMIT, key: byUser('id') };
  // Nothing in its name says what it does.
  class Late implements CanActivate {
    canActivate = (context: ExecutionContext) => {
      const request = context.switchToHttp().getRequest<Record<string, unknown>>();
      request['user'] = { id: 1 };
      return true;
    };
  }
  class RolesGuard implements CanActivate {
    canActivate = () => true;
  }

  it.each<[string, Parts, RegExp]>([
    [
      'byUser',
      { controllers: [route(USER, AuthGuard)] },
      /^"default" of Routes\.get: by the user, but RateLimitGuard \(globally\) runs before AuthGuard \(on the method\)/,
    ],
    [
      'a part of the key',
      { controllers: [route({ ...LIMIT, key: firstOf(byUser('id'), byIp()) }, AuthGuard)] },
      /AuthGuard/,
    ],
    [
      'byTenant of the user',
      {
        controllers: [
          route({ ...LIMIT, key: byTenant(({ user }) => user?.org as string) }, AuthGuard),
        ],
      },
      /AuthGuard/,
    ],
    [
      'a function of one’s own',
      { controllers: [route({ ...LIMIT, key: (caller) => caller.user?.id as string }, AuthGuard)] },
      /AuthGuard/,
    ],
    [
      'the module’s key',
      { options: { key: byUser('id') }, controllers: [route(LIMIT, AuthGuard)] },
      /AuthGuard/,
    ],
    ['a guard that only shows in its text', { controllers: [route(USER, Late)] }, /before Late/],
    [
      'APP_GUARDs in the wrong order',
      {
        controllers: [route(USER)],
        providers: [GUARD, { provide: APP_GUARD, useClass: AuthGuard }],
      },
      /before AuthGuard \(globally\)/,
    ],
    [
      'the tier of the user',
      {
        options: {
          tiers: { free: LIMIT },
          tierOf: ({ user }) => user?.plan as string,
          key: (caller) => caller.headers.account as string,
        },
        controllers: [route({}, AuthGuard)],
      },
      /^the tier for "default" of Routes\.get/,
    ],
  ])('%s', async (_, parts, line) => {
    expect(await warningsOf(parts)).toEqual([expect.stringMatching(line)]);
    expect(warnings[0]).toMatch(/Bind the guard that authenticates first/);
  });

  it('concurrency limits as well', async () => {
    @Controller()
    class Routes {
      @Get()
      @UseGuards(AuthGuard)
      @ConcurrencyLimit({ max: 2, key: byUser('id') })
      get() {
        return 'ok';
      }
    }
    expect(await warningsOf({ controllers: [Routes] })).toEqual([
      expect.stringContaining('the concurrency limit "concurrency" of Routes.get'),
    ]);
  });

  it.each<[string, Parts]>([
    [
      'authentication comes first',
      {
        controllers: [route(USER)],
        providers: [{ provide: APP_GUARD, useClass: AuthGuard }, GUARD],
      },
    ],
    [
      'both stand on the method',
      { controllers: [route(USER, AuthGuard, RateLimitGuard)], providers: [] },
    ],
    ['the guard behind it only asks for roles', { controllers: [route(USER, RolesGuard)] }],
    ['the limit is by address', { controllers: [route(LIMIT, AuthGuard)] }],
    [
      'the key is a header of that name',
      {
        controllers: [
          route({ ...LIMIT, key: ({ headers }) => headers['user-agent'] as string }, AuthGuard),
        ],
      },
    ],
    [
      'only limits by address are charged there',
      {
        controllers: [route({ ...USER, name: 'user' }, AuthGuard, RateLimitGuard)],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard.only('ip') }],
        options: { always: { name: 'ip', ...LIMIT } },
      },
    ],
  ])('not: %s', async (_, parts) => {
    expect(await warningsOf(parts)).toEqual([]);
  });
});

describe('a limit by user that never sees one', () => {
  const app = (key: KeyResolver, providers: Provider[] = [GUARD]) =>
    startApp(metadataOf({ controllers: [route({ rate: 1000, name: 'mine', key })], providers }));

  it.each([
    ['byUser', byUser('id'), 401],
    ['with a way out', firstOf(byUser('id'), byIp()), 200],
  ])('%s: told once, after a hundred calls', async (_, key, status) => {
    const { statuses } = await app(key);
    expect(await statuses(99, '/')).toEqual(times(99, status));
    expect(warnings).toEqual([]);
    expect(await statuses(102, '/')).toEqual(times(102, status));
    expect(warnings).toEqual([
      expect.stringMatching(
        /^policy "mine" is by the user, and of its first 100 calls not one had one: authenticate before/,
      ),
    ]);
  });

  it('not: users are there', async () => {
    const { statuses } = await app(byUser('id'), [
      { provide: APP_GUARD, useClass: AuthGuard },
      GUARD,
    ]);
    expect(await statuses(120, '/')).toEqual(times(120, 200));
    expect(warnings).toEqual([]);
  });
});

describe('limits that no guard reaches', () => {
  it.each<[string, Parts, RegExp]>([
    [
      'no guard at all',
      { providers: [] },
      /^no guard charges "default" of Routes\.get, so calls are not limited: add \{ provide: APP_GUARD, useClass: RateLimitGuard \}/,
    ],
    [
      'one for other names',
      {
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard.only('ip') }],
        options: { always: { name: 'ip', ...LIMIT } },
      },
      /^no guard charges "default"/,
    ],
    [
      'always',
      {
        providers: [],
        controllers: [SkippedRoutes()],
        options: { always: { name: 'ip', ...LIMIT } },
      },
      /always ip is charged nowhere/,
    ],
  ])('%s', async (_, parts, line) => {
    expect(await warningsOf(parts)).toEqual([expect.stringMatching(line)]);
  });

  it('a decorator on something that is no route', async () => {
    @Injectable()
    class Mailer {
      @RateLimit(LIMIT)
      send() {
        return 'sent';
      }
    }
    expect(await warningsOf({ providers: [GUARD, Mailer] })).toEqual([
      expect.stringMatching(
        /^@RateLimit on Mailer\.send limits nothing: .* or ask RateLimiterService$/,
      ),
    ]);
  });

  it('not: a guard of one’s own that asks ours', async () => {
    @Injectable()
    class OfficeHoursGuard implements CanActivate {
      constructor(private readonly limits: RateLimitGuard) {}
      canActivate(context: ExecutionContext) {
        return this.limits.canActivate(context);
      }
    }
    expect(
      await warningsOf({ providers: [{ provide: APP_GUARD, useClass: OfficeHoursGuard }] }),
    ).toEqual([]);
  });

  it('not: routes without a guard in an application that has one elsewhere', async () => {
    const controllers = [route(LIMIT, RateLimitGuard), SkippedRoutes()];
    const options = { always: { name: 'ip', ...LIMIT } };
    expect(await warningsOf({ providers: [], controllers, options })).toEqual([]);
  });

  it('not: limits for the service alone', async () => {
    expect(
      await warningsOf({
        providers: [],
        controllers: [],
        options: { limit: LIMIT, policies: { search: LIMIT } },
      }),
    ).toEqual([]);
  });
});

function SkippedRoutes(): Type {
  @Controller('skipped')
  @SkipRateLimit()
  class Skipped {
    @Get()
    get() {
      return 'ok';
    }
  }
  return Skipped;
}

describe('a capacity without room for a burst', () => {
  it('is told with what to do', async () => {
    expect(await warningsOf({ controllers: [route({ rate: 10, capacity: 10 })] })).toEqual([
      expect.stringMatching(
        /^"default" of Routes\.get: capacity 10 is what one second brings.* 11 calls at once .*Leave capacity out \(20\), or say algorithm: 'leaky-bucket'/,
      ),
    ]);
  });

  it('also in a row of the tier table', async () => {
    const options = {
      tiers: { free: LIMIT, pro: { rate: 100, capacity: 100 } },
      key: (caller: { headers: object }) => (caller.headers as { account: string }).account,
    };
    expect(await warningsOf({ options, controllers: [route({})] })).toEqual([
      expect.stringContaining('capacity 100'),
    ]);
  });

  it.each<RateLimitOptions>([
    { rate: 10 },
    { rate: 10, per: 'minute', capacity: 10 },
    { rate: 10, algorithm: 'fixed-window' },
    { rate: 10, capacity: 10, algorithm: 'leaky-bucket' },
    { rate: 10, capacity: 10, onLimit: 'wait', maxWaitMs: 1000 },
    { rate: 10, capacity: 10, mode: 'shadow' },
  ])('not: %p', async (options) => {
    expect(await warningsOf({ controllers: [route(options)] })).toEqual([]);
  });
});

describe('tiers with the address as key', () => {
  const tiers = { free: LIMIT, pro: { rate: 100, capacity: 200 } };
  const tierOf = () => 'pro';

  it('the module’s tiers and its default key', async () => {
    expect(await warningsOf({ options: { tiers, tierOf }, controllers: [route({})] })).toEqual([
      expect.stringMatching(
        /^"default" of Routes\.get: tiers, and the address as key: .*firstOf\(byUser\('id'\), byIp\(\)\)/,
      ),
    ]);
  });

  it('not: a key that the tier belongs to, and no limit by tier', async () => {
    const key = firstOf(byUser('id'), byIp());
    expect(
      await warningsOf({
        options: { tiers, tierOf, key },
        controllers: [route({}), SkippedRoutes()],
      }),
    ).toEqual([]);
  });
});

describe('one key for everybody', () => {
  const EVERYBODY = 'everybody';

  it.each<[string, KeyResolver]>([
    ['a text', () => 'all'],
    [
      'a number, in a function',
      function () {
        return 1;
      },
    ],
    ['a name', () => EVERYBODY],
    ['later', async () => 'all'],
    ['as a tenant', byTenant(() => 'acme')],
    [
      'two of them',
      allOf(
        () => 'a',
        () => 'b',
      ),
    ],
  ])('%s', async (_, key) => {
    expect(await warningsOf({ controllers: [route({ ...LIMIT, key })] })).toEqual([
      expect.stringMatching(/^"default" of Routes\.get: one key for everybody, .*byIp\(\)/),
    ]);
  });

  it.each<[string, KeyResolver]>([
    ['a part of the caller', (caller) => caller.ip],
    ['his headers', ({ headers }) => headers.account as string],
    ['what somebody else knows of him', () => currentTenant()],
    ['all arguments', (...args) => (args[0] as { ip: string }).ip],
    ['with the address', allOf(() => 'a', byIp())],
  ])('not: %s', async (_, key) => {
    expect(await warningsOf({ controllers: [route({ ...LIMIT, key })] })).toEqual([]);
    expect(asked).toBe(0);
  });

  it('not: a cap over all beside a limit a caller', async () => {
    const options = { always: { name: 'all', rate: 1000, key: () => 'all' } };
    expect(await warningsOf({ options })).toEqual([]);
  });
});

let asked = 0;
function currentTenant(): string {
  asked += 1;
  return 'acme';
}
