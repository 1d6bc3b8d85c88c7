// Trial B39: callers without an identity get a clear answer and never a bucket together.
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import {
  Controller,
  Get,
  Logger,
  type MiddlewareConsumer,
  Module,
  type NestModule,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  byUser,
  type KeyResolver,
  type KeyValue,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptions,
} from 'nest-rate-limit';
import { ADAPTERS, closeApps, startApp } from '../support/nest-app';

function app(key: KeyResolver | undefined, options: RateLimitModuleOptions = {}) {
  @Controller()
  class Routes {
    @Get()
    @RateLimit({ rate: 0.001, capacity: 2, key })
    get() {
      return 'ok';
    }
  }
  return {
    imports: [RateLimitModule.forRoot(options)],
    controllers: [Routes],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

function statusOver(socketPath: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path: '/' }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    })
      .on('error', reject)
      .end();
  });
}

afterEach(closeApps);

describe.each(ADAPTERS)('B39 on %s', (_, adapter) => {
  it('a client on a Unix socket has no address: 400', async () => {
    const socket = join(tmpdir(), `rl-${randomUUID()}.sock`);
    await startApp(app(undefined), { adapter, socket });
    expect(await statusOver(socket)).toBe(400);
    expect(await statusOver(socket)).toBe(400);
    rmSync(socket, { force: true });
  });

  it.each<[string, () => KeyValue | Promise<KeyValue>, number]>([
    ['undefined', () => undefined, 400],
    ['null', () => null, 400],
    ['an empty text', () => '', 400],
    ['NaN', () => Number.NaN, 400],
    ['undefined, later', async () => undefined, 400],
    ['an object', () => ({}) as string, 500],
    ['an error', () => Promise.reject(new Error('down')), 500],
  ])('a resolver that gives %s', async (_what, key, status) => {
    const { statuses } = await startApp(app(key), { adapter });
    expect(await statuses(3, '/')).toEqual([status, status, status]);
  });

  it('a caller who is known is not affected by those who are not', async () => {
    const key: KeyResolver = ({ headers }) => headers.user as string | undefined;
    const { statuses } = await startApp(app(key), { adapter });
    expect(await statuses(3, '/')).toEqual([400, 400, 400]);
    expect(await statuses(3, '/', { user: 'ada' })).toEqual([200, 200, 429]);
    expect(await statuses(2, '/', { user: 'undefined' })).toEqual([200, 200]);
  });

  it('a user that middleware found is known on both adapters', async () => {
    @Controller()
    class Routes {
      @Get()
      @RateLimit({ rate: 0.001, capacity: 1, key: byUser('name') })
      get() {
        return 'ok';
      }
    }
    @Module({
      imports: [RateLimitModule.forRoot()],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
    })
    class WithMiddleware implements NestModule {
      configure(consumer: MiddlewareConsumer) {
        consumer
          .apply(
            (
              request: { headers: { name?: string }; user?: object },
              _: unknown,
              next: () => void,
            ) => {
              const { name } = request.headers;
              if (name !== undefined) request.user = { name };
              next();
            },
          )
          .forRoutes('{*path}');
      }
    }
    const { statuses } = await startApp({ imports: [WithMiddleware] }, { adapter });
    expect(await statuses(2, '/', { name: 'ada' })).toEqual([200, 429]);
    expect(await statuses(1, '/', { name: 'bob' })).toEqual([200]);
    expect(await statuses(1, '/')).toEqual([401]);
  });

  it('in shadow mode nobody is denied, known or not', async () => {
    const key: KeyResolver = ({ headers }) => headers.user as string | undefined;
    const { statuses } = await startApp(app(key, { mode: 'shadow' }), { adapter });
    expect(await statuses(3, '/')).toEqual([200, 200, 200]);
    expect(await statuses(3, '/', { user: 'ada' })).toEqual([200, 200, 200]);
  });

  it.each<[string, RateLimitOptions]>([
    ['a cost of text', { cost: () => '5' as never }],
    ['a bigint', { cost: () => 5n as never }],
    ['a cost below 0', { cost: () => -1 }],
    ['a cost that fails', { cost: () => Promise.reject(new Error('down')) }],
    [
      'a skip that fails',
      {
        skip: () => {
          throw new Error('down');
        },
      },
    ],
    ['a key that fails', { key: () => Promise.reject(new Error('down')) }],
  ])('in shadow mode %s changes no answer, and is told', async (_what, options) => {
    @Controller()
    class Routes {
      @Get()
      @RateLimit({ rate: 0.001, capacity: 2, mode: 'shadow', ...options })
      get() {
        return 'ok';
      }
    }
    const told = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const { imports, providers } = app(undefined);
    const { statuses } = await startApp({ imports, providers, controllers: [Routes] }, { adapter });
    expect(await statuses(3, '/')).toEqual([200, 200, 200]);
    expect(told.mock.calls.flat().join()).toMatch(/down|of policy "default" is not a positive/);
    told.mockRestore();
  });

  it('keys of any text are buckets of their own (B37)', async () => {
    const key: KeyResolver = ({ query }) => query.key as string;
    const { statuses } = await startApp(app(key), { adapter });
    const keys = [' ', '{', '}', '{x}', '{}', 'a}b{c', 'x'.repeat(10_000), '\n', '🙂', '__proto__'];
    for (const each of [...keys, '2001:db8::1', 'constructor', 'a:b', 'a', 'b']) {
      expect(await statuses(3, `/?key=${encodeURIComponent(each)}`)).toEqual([200, 200, 429]);
    }
  });
});
