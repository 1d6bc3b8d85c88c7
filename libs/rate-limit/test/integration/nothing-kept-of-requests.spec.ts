// Trial B61: whatever answers a call, nothing of the request outlives it: neither by a timer of its own nor by what runs
// in its AsyncLocalStorage.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Logger, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  byHeader,
  ConcurrencyLimit,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nest-rate-limit';
import { ADAPTERS, closeApps, startApp } from '../support/nest-app';
import { heapMb } from '../support/heap';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

jest.setTimeout(30_000);

const CALLS = 60;
const KEY = byHeader('x-api-key');

@Controller()
class Routes {
  @Get()
  @RateLimit({ rate: 0.001, capacity: 1, key: KEY, chargeOn: 'failure' })
  @RateLimit({ name: 'wait', rate: 1000, capacity: 1, key: KEY, onLimit: 'wait', maxWaitMs: 50 })
  @ConcurrencyLimit({ max: 5, key: KEY })
  get() {
    return 'ok';
  }
}

interface Context {
  readonly large: Buffer;
}

/** Runs every request in a context of its own, as request-scoped ORMs do. */
function contexts() {
  const storage = new AsyncLocalStorage<Context>();
  const seen: WeakRef<Context>[] = [];
  const middleware = (_request: unknown, _response: unknown, next: () => void) => {
    const context = { large: Buffer.alloc(2 ** 18) };
    seen.push(new WeakRef(context));
    storage.run(context, next);
  };
  return { seen, middleware };
}

const GONE = { host: '127.0.0.1', port: 1 };
const stores: ReadonlyArray<readonly [string, () => RateLimitModuleOptions]> = [
  ['the memory store', () => ({})],
  ['Redis', () => ({ redis: sharedRedisUrl(), keyPrefix: uniquePrefix() })],
  ['the local buckets of an outage', () => ({ redis: GONE })],
];

beforeEach(() => jest.spyOn(Logger.prototype, 'error').mockImplementation());
afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
});

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  it.each(stores)('%s', async (_name, options) => {
    const { seen, middleware } = contexts();
    const app = await startApp(
      {
        imports: [RateLimitModule.forRoot(options())],
        controllers: [Routes as Type],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
      },
      { adapter, prepare: (nest) => nest.use(middleware) },
    );
    for (let i = 0; i < CALLS; i++) {
      // Some are refused, some wait.
      await app.get('/', { 'x-api-key': `k${i % 40}` });
    }
    // Node keeps the call in which it last wrote a Date header for a second.
    await delay(1200);
    await heapMb();
    expect(seen).toHaveLength(CALLS);
    const kept = seen.flatMap((each, i) => (each.deref() === undefined ? [] : [i]));
    // Of the last ones the connections are still open.
    expect(kept.filter((i) => i < CALLS - 3)).toEqual([]);
  });
});
