// What a client sees: headers and bodies on the wire, the same on both adapters.
import {
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Header,
  Inject,
  type ModuleMetadata,
  Post,
  Res,
  Sse,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import { of } from 'rxjs';
import {
  type Decision,
  MemoryStore,
  RateLimit,
  RateLimiterService,
  RateLimitExceededException,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
  StoreConfigurationError,
  StoreUnavailableError,
} from 'nest-rate-limit';
import { ADAPTERS, type App, closeApps, startApp } from '../support/nest-app';

let nowMs = 1_800_000_000_000;
const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };

function guarded(controllers: Type[], options: RateLimitModuleOptions = {}): ModuleMetadata {
  return {
    imports: [RateLimitModule.forRoot({ store: new MemoryStore({ clock }), ...options })],
    controllers,
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

function limitHeaders({ headers }: { headers: Record<string, string> }) {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => name.includes('ratelimit') || name === 'retry-after',
    ),
  );
}

afterEach(closeApps);

describe.each(ADAPTERS)('answers on %s', (_, adapter) => {
  const start = (controllers: Type[], options?: RateLimitModuleOptions) =>
    startApp(guarded(controllers, options), { adapter });

  @Controller()
  class Routes {
    @Get()
    @RateLimit(200, 400)
    get() {
      return 'ok';
    }
    @Get('slow')
    @RateLimit(0.3, 2)
    slow() {
      return 'ok';
    }
    @Get('two')
    @RateLimit({ name: 'burst', rate: 10, capacity: 20 })
    @RateLimit({ name: 'day', rate: 3, per: 'day' })
    two() {
      return 'ok';
    }
    @Post('created')
    @Header('x-own', 'kept')
    @RateLimit(1, 1)
    created() {
      return { made: true };
    }
  }

  it('an allowance carries both header styles; limit and remaining describe one thing (B49)', async () => {
    const app = await start([Routes]);
    expect(limitHeaders(await app.get('/'))).toEqual({
      'ratelimit-policy': '"default";q=400;w=2',
      ratelimit: '"default";r=399;t=1',
      'x-ratelimit-limit': '400',
      'x-ratelimit-remaining': '399',
      'x-ratelimit-reset': '1',
    });
  });

  it.each(['/raw', '/events'])(
    '%s, answered past the framework, carries them too',
    async (path) => {
      interface Raw {
        end(text: string): void;
      }
      @Controller()
      class PastTheFramework {
        @Get('raw')
        @RateLimit(200, 400)
        write(@Res() response: Raw & { raw?: Raw }) {
          (response.raw ?? response).end('ok');
        }
        @Sse('events')
        @RateLimit(200, 400)
        events() {
          return of({ data: 'ok' });
        }
      }
      const app = await start([PastTheFramework]);
      const answer = await app.get(path);
      expect(answer.body).toContain('ok');
      expect(limitHeaders(answer)).toEqual({
        'ratelimit-policy': '"default";q=400;w=2',
        ratelimit: '"default";r=399;t=1',
        'x-ratelimit-limit': '400',
        'x-ratelimit-remaining': '399',
        'x-ratelimit-reset': '1',
      });
    },
  );

  it('a denial: 429, Retry-After, a problem body that says the same, never cached', async () => {
    const app = await start([Routes]);
    await app.statuses(2, '/slow');
    const answer = await app.get('/slow');
    expect(answer.status).toBe(429);
    expect(answer.headers['content-type']).toMatch(
      /^application\/problem\+json(; charset=utf-8)?$/,
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(limitHeaders(answer)).toEqual({
      'ratelimit-policy': '"default";q=2;w=7',
      ratelimit: '"default";r=0;t=4',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '7',
      'retry-after': '4',
    });
    expect(answer.body).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Policy "default" is exhausted. Retry in 4 s.',
      'violated-policies': ['default'],
      retryAfter: 4,
      cost: 1,
    });
    nowMs += 3333;
    expect((await app.get('/slow')).status).toBe(429);
    nowMs += 1;
    expect((await app.get('/slow')).status).toBe(200);
  });

  it('several limits: all of them in the draft fields, the tightest in the legacy ones', async () => {
    const app = await start([Routes]);
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(limitHeaders(await app.get('/two')));
    expect(answers[0]).toEqual({
      'ratelimit-policy': '"burst";q=20;w=2, "day";q=3;w=86400',
      ratelimit: '"burst";r=19;t=1, "day";r=2;t=28800',
      'x-ratelimit-limit': '3',
      'x-ratelimit-remaining': '2',
      'x-ratelimit-reset': '28800',
    });
    expect(answers[3]).toMatchObject({ 'x-ratelimit-remaining': '0', 'retry-after': '28800' });
  });

  it('the handler’s own status, headers and body stay', async () => {
    const app = await start([Routes]);
    const answer = await app.call('POST', '/created');
    expect(answer).toMatchObject({
      status: 201,
      headers: { 'x-own': 'kept' },
      body: { made: true },
    });
    expect(answer.headers['content-type']).toContain('application/json');
    const head = await app.call('HEAD', '/');
    expect(head.headers['x-ratelimit-remaining']).toBe('399');
  });

  it.each([
    ['draft', ['ratelimit', 'ratelimit-policy', 'retry-after']],
    ['legacy', ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']],
    [false, ['retry-after']],
    [[], ['retry-after']],
  ] as const)('headers: %j', async (headers, expected) => {
    const app = await start([Routes], { headers });
    const allowed = limitHeaders(await app.call('POST', '/created'));
    expect(Object.keys(allowed).sort()).toEqual(expected.filter((name) => name !== 'retry-after'));
    const denied = limitHeaders(await app.call('POST', '/created'));
    expect(Object.keys(denied).sort()).toEqual(expected);
  });

  it('a filter may shape its own answer; the exception carries what it needs', async () => {
    const seen: RateLimitExceededException[] = [];
    @Catch(RateLimitExceededException)
    class OwnAnswer implements ExceptionFilter<RateLimitExceededException> {
      catch(exception: RateLimitExceededException, host: ArgumentsHost) {
        seen.push(exception);
        const response = host.switchToHttp().getResponse<{
          status(code: number): { send(body: object): void };
        }>();
        response.status(503).send({ slow: 'down' });
      }
    }
    const app = await startApp(guarded([Routes]), {
      adapter,
      prepare: (nest) => nest.useGlobalFilters(new OwnAnswer()),
    });
    await app.call('POST', '/created');
    const answer = await app.call('POST', '/created');
    expect(answer).toMatchObject({ status: 503, body: { slow: 'down' } });
    expect(answer.headers).toMatchObject({ 'retry-after': '1', 'x-ratelimit-remaining': '0' });
    expect(answer.headers['content-type']).toContain('application/json');
    const [exception] = seen;
    expect(exception).toMatchObject({ retryAfterMs: 1000, binding: { policy: 'default' } });
    expect(exception.decisions).toEqual([
      {
        allowed: false,
        policy: 'default',
        key: 'ip:127.0.0.1',
        cost: 1,
        limit: 1,
        remaining: 0,
        retryAfterMs: 1000,
        resetAfterMs: 1000,
        source: 'memory',
        degraded: false,
      } satisfies Decision,
    ]);
  });

  it('headers are not set on an answer that was sent', async () => {
    @Controller()
    class Early {
      @Get()
      @UseGuards(Sends, RateLimitGuard)
      @RateLimit(1, 1)
      get(@Res() _response: unknown) {}
    }
    const { status, body } = await (
      await startApp({ imports: [RateLimitModule.forRoot()], controllers: [Early] }, { adapter })
    ).get('/');
    expect({ status, body }).toEqual({ status: 200, body: 'sent early' });
  });

  describe('when the store is out', () => {
    const broken = (error: Error): RateLimitStore => ({
      source: 'shared',
      take: () => Promise.reject(error),
      peek: () => Promise.reject(error),
      reset: () => Promise.reject(error),
    });

    it('closed: 503 with Retry-After, and the policy that is closed', async () => {
      @Controller()
      class Closed {
        @Get()
        @RateLimit({ name: 'vault', rate: 1, capacity: 5, cost: 2, onStoreFailure: 'closed' })
        @RateLimit({ name: 'other', rate: 1 })
        get() {
          return 'ok';
        }
      }
      const app = await start([Closed], { store: broken(new StoreUnavailableError('gone')) });
      const answer = await app.get('/');
      expect(answer.status).toBe(503);
      expect(answer.headers).toMatchObject({ 'retry-after': '1', 'cache-control': 'no-store' });
      expect(answer.headers['content-type']).toContain('application/problem+json');
      expect(answer.body).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Temporary Reduced Capacity',
        status: 503,
        detail: 'The rate limit cannot be checked right now. Retry in 1 s.',
        'violated-policies': ['vault'],
        retryAfter: 1,
        cost: 2,
      });
    });

    it('local limits on, open lets pass, a shadow that is closed denies nobody', async () => {
      @Controller()
      class Modes {
        @Get('local')
        @RateLimit(0.001, 1)
        local() {
          return 'ok';
        }
        @Get('open')
        @RateLimit({ rate: 0.001, capacity: 1, onStoreFailure: 'open' })
        open() {
          return 'ok';
        }
        @Get('shadow')
        @RateLimit({ rate: 0.001, capacity: 1, mode: 'shadow', onStoreFailure: 'closed' })
        shadow() {
          return 'ok';
        }
      }
      const app = await start([Modes], { store: broken(new StoreUnavailableError('gone')) });
      expect(await app.statuses(2, '/local')).toEqual([200, 429]);
      expect(await app.statuses(3, '/open')).toEqual([200, 200, 200]);
      expect(await app.statuses(3, '/shadow')).toEqual([200, 200, 200]);
    });

    it('a store that refuses us is a 500 that tells nothing, whatever the failure mode', async () => {
      const refusal = new StoreConfigurationError('WRONGPASS for user hunter2');
      const app = await start([Routes], { store: broken(refusal), onStoreFailure: 'open' });
      expect(await app.get('/')).toMatchObject({
        status: 500,
        body: { statusCode: 500, message: 'Internal server error' },
      });
    });
  });

  describe('errors of the service that escape a handler', () => {
    @Controller()
    class ByHand {
      constructor(@Inject(RateLimiterService) private readonly limiter: RateLimiterService) {}
      @Get('asserted')
      async asserted() {
        this.limiter.assertAllowed(await this.limiter.consume('k', { rate: 0.001, capacity: 1 }));
        return 'ok';
      }
      @Get('all')
      async all() {
        const charge = { key: 'k', limit: { rate: 0.001, capacity: 2, name: 'both' } };
        this.limiter.assertAllowed(await this.limiter.consumeAll([charge, charge]));
        return 'ok';
      }
      @Get('too-much')
      async tooMuch() {
        await this.limiter.consume('k', { rate: 1, capacity: 1 }, { cost: 2 });
      }
      @Get('unknown')
      async unknown() {
        await this.limiter.consume('k', 'nosuch');
      }
    }
    let app: App;
    beforeEach(async () => {
      app = await start([ByHand]);
    });

    it('a denial that was asserted: 429 with Retry-After', async () => {
      expect((await app.get('/asserted')).status).toBe(200);
      const answer = await app.get('/asserted');
      expect(answer).toMatchObject({
        status: 429,
        headers: { 'retry-after': '1000', 'cache-control': 'no-store' },
        body: { title: 'Quota Exceeded', retryAfter: 1000, 'violated-policies': ['default'] },
      });
      expect(answer.headers['content-type']).toContain('application/problem+json');
      expect((await app.get('/all')).status).toBe(200);
      expect((await app.get('/all')).headers['retry-after']).toBe('2000');
    });

    it('a filter of the application comes first, however it is bound', async () => {
      @Catch()
      class All implements ExceptionFilter<Error> {
        catch(error: Error, host: ArgumentsHost) {
          const response = host.switchToHttp().getResponse<{
            status(code: number): { send(body: string): void };
          }>();
          response.status(418).send(error.name);
        }
      }
      const metadata = guarded([ByHand]);
      const bound = await startApp(
        { ...metadata, providers: [{ provide: APP_FILTER, useClass: All }] },
        { adapter },
      );
      const global = await startApp(metadata, {
        adapter,
        prepare: (nest) => nest.useGlobalFilters(new All()),
      });
      for (const each of [bound, global]) {
        expect(await each.get('/unknown')).toMatchObject({
          status: 418,
          body: 'UnknownPolicyError',
        });
      }
    });

    it('a cost that can never pass: 413; an unknown policy: 500 that tells nothing', async () => {
      expect((await app.get('/too-much')).status).toBe(413);
      expect(await app.get('/unknown')).toMatchObject({
        status: 500,
        body: { statusCode: 500, message: 'Internal server error' },
      });
    });

    it('after close: 503', async () => {
      await app.nest.get(RateLimiterService).close();
      const answer = await app.get('/asserted');
      expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    });
  });
});

class Sends {
  canActivate(context: ArgumentsHost) {
    const response = context.switchToHttp().getResponse<{ send(body: string): unknown }>();
    response.send('sent early');
    return true;
  }
}
