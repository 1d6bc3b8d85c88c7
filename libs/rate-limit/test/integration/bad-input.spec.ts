// Whatever makes no sense stops the start, with an error that names the place, the option and the value.
import { Controller, Get, type ModuleMetadata, type Type, UseGuards } from '@nestjs/common';
import {
  InvalidLimitError,
  MemoryStore,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
  UnknownPolicyError,
} from 'nest-rate-limit';
import { buildApp, closeApps } from '../support/nest-app';

afterEach(closeApps);

async function startError(metadata: ModuleMetadata): Promise<Error> {
  try {
    await buildApp(metadata);
  } catch (error) {
    return error as Error;
  }
  throw new Error('the application started');
}

/** Options as they come from JavaScript, or from a configuration that nobody checked. */
function unchecked(options: object): RateLimitModuleOptions {
  return options as RateLimitModuleOptions;
}

const nonsense = [0, -1, Number.NaN, Infinity, '10', null];
const LIMITS = (values: (number | string | null)[]) => values.map((value) => [value] as const);

describe('module options', () => {
  const store = new MemoryStore();
  const rows: [option: string, options: object, message: string][] = [
    ['redis', { redis: 'localhost:6379' }, 'redis "localhost:6379" is neither a URL'],
    ['redis, empty', { redis: '' }, 'redis "" is neither a URL'],
    ['redis, a number', { redis: 6379 }, 'redis 6379 is neither a URL'],
    [
      'redis, a secret in it',
      { redis: 'http://user:hunter2@host' },
      'redis "…@host" is neither a URL',
    ],
    [
      'redis.port',
      { redis: { port: 'x' } },
      'redis.port "x" is not a whole number from 1 to 65535',
    ],
    ['redis.port, too large', { redis: { port: 65_536 } }, 'redis.port 65536 is not'],
    ['redis.port, 0', { redis: { port: 0 } }, 'redis.port 0 is not'],
    ['redis.db', { redis: { db: -1 } }, 'redis.db -1 is not a whole number from 0 on'],
    ['a port of a URL', { redis: 'redis://h:0' }, 'redis "redis://h:0": port "0" is not'],
    ['too large a port', { redis: 'redis://u:hunter2@h:70000' }, 'redis "…@h:70000" is neither'],
    ['a db of a URL', { redis: 'redis://u:hunter2@h/x' }, 'redis "…@h/x": db "x" is not a whole'],
    ['a negative db of a URL', { redis: 'redis://h/-1' }, 'db "-1" is not a whole number from 0'],
    ['a db of a query', { redis: '/tmp/s?db=x&password=hunter2' }, 'db "x" is not a whole'],
    ['a scheme', { redis: 'mysql://h:1' }, 'redis "mysql://h:1" is neither a URL'],
    ['redis.host', { redis: { host: '' } }, 'redis.host "" is not a name or an address'],
    ['redis and store', { redis: 'redis://h', store }, 'redis and store are both given'],
    ['store', { store: { take() {} } }, 'store an object lacks peek, reset'],
    ['store.source', { store: { take() {}, peek() {}, reset() {} } }, 'store.source undefined'],
    [
      'store, a Redis client',
      { store: { evalsha() {}, eval() {}, del() {} } },
      'a Redis client goes into the option redis',
    ],
    ['keyPrefix, empty', { keyPrefix: '' }, 'keyPrefix "" cannot be used'],
    ['keyPrefix, braces', { keyPrefix: '{app}' }, 'keyPrefix "{app}" cannot be used'],
    ['hashKeys', { hashKeys: 'yes' }, 'hashKeys: "yes" is not a set of options'],
    ['hashKeys.secret', { hashKeys: { secret: '' } }, 'hashKeys.secret is empty'],
    ['hashKeys.secret missing', { hashKeys: {} }, 'hashKeys.secret is of type undefined'],
    ['maxBuckets', { maxBuckets: 0 }, 'maxBuckets 0 is not a whole number'],
    ['maxBuckets, text', { maxBuckets: '100' }, 'maxBuckets "100" is not a whole number'],
    ['storeTimeoutMs', { storeTimeoutMs: Number.NaN }, 'storeTimeoutMs NaN is not a whole number'],
    ['storeTimeoutMs, 0', { storeTimeoutMs: 0 }, 'storeTimeoutMs 0 is not a whole number'],
    ['headers', { headers: 'ietf' }, 'headers: "ietf" is no header style'],
    ['headers, true', { headers: true }, 'headers: true is no header style'],
    ['onStoreFailure', { onStoreFailure: 'ignore' }, 'onStoreFailure "ignore" is unknown'],
    ['localShare', { localShare: 1.5 }, 'localShare 1.5 is not a number above 0 and at most 1'],
    ['localShare, 0', { localShare: 0 }, 'localShare 0 is not a number above 0'],
    ['mode', { mode: 'dry-run' }, 'mode "dry-run" is unknown'],
    ['key', { key: 'ip' }, 'key "ip" is not a function'],
    ['skip', { skip: true }, 'skip true is not a function'],
    ['tierOf', { tierOf: 'pro' }, 'tierOf "pro" is not a function'],
    [
      'an unknown option',
      { limits: {} },
      'option "limits" is unknown; known options: redis, store',
    ],
    ['limit', { limit: 10 }, 'limit: 10 is not a set of options'],
    ['limit.key', { limit: { rate: 1, key: () => 'k' } }, 'limit: option "key" is unknown'],
    ['limit.capacity', { limit: { rate: 1, capacity: 0.5 } }, 'limit: capacity 0.5 is not'],
    ['always without name', { always: { rate: 1 } }, 'always[0]: name is missing'],
    ['always.rate', { always: { name: 'a', rate: -1 } }, 'always[0]: rate -1 is not'],
    [
      'always.scope',
      { always: [{ name: 'a', rate: 1, scope: 'route' }] },
      'always[0]: scope "route" is not possible',
    ],
    [
      'always, a name twice',
      {
        always: [
          { name: 'a', rate: 1 },
          { name: 'a', rate: 2 },
        ],
      },
      'always[1]: two limits have the name "a"',
    ],
    [
      'always and limit',
      { limit: { rate: 1 }, always: { name: 'default', rate: 1 } },
      'always and limit have the same name "default"',
    ],
    [
      'always and policy',
      { policies: { a: { rate: 1 } }, always: { name: 'a', rate: 1 } },
      'always[0]: name "a" is the name of a policy as well',
    ],
    ['policies', { policies: [] }, 'policies [] is not a table'],
    ['policies.rate', { policies: { a: {} } }, 'policies.a: rate undefined is not'],
    ['policies, a bad name', { policies: { 'A b': { rate: 1 } } }, 'policies.A b: name "A b"'],
    ['policies.name', { policies: { a: { rate: 1, name: 'b' } } }, 'policies.a: name "b" differs'],
    ['policies.tier', { policies: { a: { rate: 1, tier: 'x' } } }, 'policies.a: tier "x"'],
    [
      'policies.scope',
      { policies: { a: { rate: 1, scope: 'route' } } },
      'policies.a: scope "route"',
    ],
    [
      'policies.cost',
      { policies: { a: { rate: 1, capacity: 2, cost: 3 } } },
      'policies.a: cost 3 is more than the capacity 2 of "a"',
    ],
    ['policies.burst', { policies: { a: { rate: 1, burst: 2 } } }, 'policies.a: option "burst"'],
    ['tiers, empty', { tiers: {} }, 'tiers has no row'],
    ['tiers.rate', { tiers: { free: { rate: '10' } } }, 'tiers.free: rate "10" is not'],
    ['tiers.name', { tiers: { free: { rate: 1, name: 'x' } } }, 'tiers.free: name "x"'],
    [
      'defaultTier',
      { tiers: { free: { rate: 1 } }, defaultTier: 'pro' },
      'defaultTier "pro" is none of the tiers free',
    ],
    ['defaultTier alone', { defaultTier: 'pro' }, 'defaultTier "pro" is set, but there are no'],
    [
      'algorithm',
      { limit: { rate: 1, algorithm: 'magic' } },
      'limit: algorithm "magic" is unknown',
    ],
  ];
  it.each(rows)('%s', async (_option, options, message) => {
    const error = await startError({ imports: [RateLimitModule.forRoot(unchecked(options))] });
    expect(error).toBeInstanceOf(InvalidLimitError);
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/^RateLimitModule/);
    expect(error.message).not.toContain('hunter2');
  });

  it('no options but a text', () => {
    const url = 'redis://user:hunter2@host' as unknown as RateLimitModuleOptions;
    expect(() => RateLimitModule.forRoot(url)).toThrow(
      new InvalidLimitError('RateLimitModule: forRoot takes a set of options, not a string'),
    );
  });

  it('isGlobal', () => {
    expect(() => RateLimitModule.forRoot(unchecked({ isGlobal: 'yes' }))).toThrow(
      'RateLimitModule: isGlobal "yes" is not true or false',
    );
  });

  it('takes frozen options, and none', async () => {
    const frozen = Object.freeze({ limit: Object.freeze({ rate: 1, capacity: 1 }) });
    await expect(buildApp({ imports: [RateLimitModule.forRoot(frozen)] })).resolves.toBeDefined();
    await expect(buildApp({ imports: [RateLimitModule.forRoot()] })).resolves.toBeDefined();
  });
});

describe('numbers in a decorator', () => {
  const started = (decorator: MethodDecorator) => {
    class Routes {
      get() {
        return 'ok';
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, 'get') as object;
    Get()(Routes.prototype, 'get', descriptor as PropertyDescriptor);
    decorator(Routes.prototype, 'get', descriptor);
    Controller()(Routes);
    return startError({ imports: [RateLimitModule.forRoot()], controllers: [Routes] });
  };

  it.each(LIMITS([...nonsense]))('rate %p', async (value) => {
    const error = await started(RateLimit(value as number, 5));
    expect(error).toBeInstanceOf(InvalidLimitError);
    expect(error.message).toMatch(/^Routes\.get: /);
    expect(error.message).toContain(
      value === '10'
        ? '@RateLimit("10", 5) is not possible'
        : value === null
          ? 'rate null'
          : `rate ${String(value)}`,
    );
  });

  it.each(LIMITS([...nonsense, 0.5]))('capacity %p', async (value) => {
    const error = await started(RateLimit(5, value as number));
    expect(error).toBeInstanceOf(InvalidLimitError);
    const shown = typeof value === 'string' ? `"${value}"` : String(value);
    expect(error.message).toMatch(`Routes.get: capacity ${shown} is not a number from 1 to`);
  });

  it('a rate of 0.5 means one in two seconds', async () => {
    class Routes {
      @Get()
      @RateLimit(0.5)
      get() {
        return 'ok';
      }
    }
    Controller()(Routes);
    const nest = await buildApp({ imports: [RateLimitModule.forRoot()], controllers: [Routes] });
    expect(nest.get(RateLimiterService).routes()).toMatchObject([
      { policies: [{ rate: 0.5, perMs: 1000, capacity: 1 }] },
    ]);
  });
});

describe('declarations', () => {
  const options: RateLimitModuleOptions = {
    policies: { search: { rate: 1, capacity: 5 } },
    tiers: { free: { rate: 1 } },
  };
  const method = (...decorators: MethodDecorator[]): Type => {
    class Routes {
      get() {
        return 'ok';
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, 'get') as object;
    for (const decorate of [Get(), ...decorators.toReversed()]) {
      decorate(Routes.prototype, 'get', descriptor as PropertyDescriptor);
    }
    Controller()(Routes);
    return Routes;
  };
  const loose = RateLimit as (...args: unknown[]) => MethodDecorator;

  const rows: [what: string, decorators: MethodDecorator[], message: string][] = [
    ['numbers beside a name', [loose('search', { rate: 5 })], 'rate 5 cannot be set for the named'],
    ['a name beside a name', [loose('search', { name: 'x' })], 'name "x" cannot be set'],
    ['a tier beside a name', [loose('search', { tier: 'free' })], 'tier "free" cannot be set'],
    ['too many arguments', [loose('search', {}, 1)], '@RateLimit("search", an object, 1) has too'],
    ['undefined', [loose(undefined)], 'rate is missing'],
    ['rate: undefined', [RateLimit({ rate: undefined })], 'rate is missing'],
    ['capacity alone', [RateLimit({ capacity: 5 })], 'rate is missing'],
    ['rate twice', [loose(1, 2, { rate: 3 })], 'rate is given twice'],
    ['a tier without numbers', [RateLimit({ tier: 'free' })], 'tier "free" goes with numbers'],
    ['tier', [loose(1, 2, [])], 'tier [] is not the name of a tier'],
    ['an unknown option', [loose({ rate: 1, burst: 2 })], 'option "burst" is unknown'],
    ['a bad name', [RateLimit({ rate: 1, name: 'My limit' })], 'name "My limit" is not a policy'],
    ['cost 0', [RateLimit({ rate: 1, cost: 0 })], 'cost 0 is neither'],
    ['cost as text', [loose({ rate: 1, cost: '1' })], 'cost "1" is neither'],
    [
      'a capacity below a fixed cost',
      [RateLimit({ rate: 1, capacity: 10, cost: 12 })],
      'cost 12 is more than the capacity 10 of "default"',
    ],
    ['… of a policy', [RateLimit('search', { cost: 6 })], 'cost 6 is more than the capacity 5 of'],
    ['… of a tier', [RateLimit({ cost: 3 })], 'cost 3 is more than the capacity 2 of "default"'],
    ['scope', [RateLimit({ rate: 1, scope: '' })], 'scope "" is not'],
    ['key', [loose({ rate: 1, key: 'ip' })], 'key "ip" is not a function'],
    ['skip', [loose({ rate: 1, skip: true })], 'skip true is not a function'],
    ['mode', [loose({ rate: 1, mode: 'off' })], 'mode "off" is unknown'],
    ['onLimit', [loose({ rate: 1, onLimit: 'drop' })], 'onLimit "drop" is unknown'],
    ['maxWaitMs', [RateLimit({ rate: 1, maxWaitMs: 5 })], 'maxWaitMs 5 only goes with'],
    ['chargeOn', [loose({ rate: 1, chargeOn: 'never' })], 'chargeOn "never" is unknown'],
    ['two the same name', [RateLimit(1), RateLimit(2)], 'two limits have the name "default"'],
    [
      'two the same name and tier',
      [RateLimit(1), RateLimit(2, 2, 'free'), RateLimit(3, 3, ['free'])],
      'two limits have the name "default" and the tier "free"',
    ],
    ['limited and skipped', [RateLimit(1), SkipRateLimit()], '"default" is both limited'],
    [
      'limited and skipped by name',
      [RateLimit('search'), SkipRateLimit('search')],
      '"search" is both limited by @RateLimit and exempted',
    ],
    [
      'skip, not a name',
      [SkipRateLimit(5 as unknown as string)],
      '@SkipRateLimit(5) does not name',
    ],
  ];
  it.each(rows)('%s', async (_what, decorators, message) => {
    const error = await startError({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [method(...decorators)],
    });
    expect(error).toBeInstanceOf(InvalidLimitError);
    expect(error.message).toContain(`Routes.get: ${message}`);
  });

  it('an unknown policy lists the known ones', async () => {
    const error = await startError({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [method(RateLimit('serach'))],
    });
    expect(error).toBeInstanceOf(UnknownPolicyError);
    expect(error.message).toBe(
      'Routes.get: policy "serach" is not registered; known policies: search',
    );
  });

  it('an unknown tier lists the known ones', async () => {
    const error = await startError({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [method(RateLimit(1, 1), RateLimit(2, 2, 'prp'))],
    });
    expect(error).toBeInstanceOf(UnknownPolicyError);
    expect(error.message).toBe('Routes.get: tier "prp" is not registered; known tiers: free');
  });

  it('a skip of an unknown name lists the known ones', async () => {
    const error = await startError({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [method(SkipRateLimit('serach'))],
    });
    expect(error).toBeInstanceOf(UnknownPolicyError);
    expect(error.message).toBe(
      'Routes.get: @SkipRateLimit("serach"): no limit has this name; known names: default, search',
    );
  });

  it('a guard for an unknown name lists the known ones', async () => {
    const Routes = method(RateLimit('search'));
    UseGuards(RateLimitGuard.only('serach'))(Routes);
    const error = await startError({
      imports: [RateLimitModule.forRoot(options)],
      controllers: [Routes],
    });
    expect(error).toBeInstanceOf(UnknownPolicyError);
    expect(error.message).toContain('RateLimitGuard.only("serach"): no limit has this name');
    expect(() => RateLimitGuard.only()).toThrow(InvalidLimitError);
  });

  it('numbers from nowhere: @RateLimit() without tiers and limit', async () => {
    const error = await startError({
      imports: [RateLimitModule.forRoot()],
      controllers: [method(RateLimit())],
    });
    expect(error.message).toContain('Routes.get: no numbers are given');
  });

  it('two handlers of one route', async () => {
    const [One, Two] = [method(RateLimit(1)), method(RateLimit(2))];
    const error = await startError({
      imports: [RateLimitModule.forRoot()],
      controllers: [One, Two],
    });
    expect(error.message).toBe(
      'Routes.get: it is "GET /" as is Routes.get, so they would share buckets: give one of their limits a scope of its own',
    );
  });
});
