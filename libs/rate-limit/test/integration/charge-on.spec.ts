// Contract rule 8: a charge that depends on how the call ends.
import { get as httpGet } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import {
  Body,
  type CanActivate,
  Controller,
  Get,
  Injectable,
  ParseIntPipe,
  Post,
  Query,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  type CallOutcome,
  InvalidLimitError,
  RateLimit,
  RateLimitGuard,
  RateLimiterService,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptions,
  UnsupportedOperationError,
} from 'nest-rate-limit';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { ADAPTERS, type App, buildApp, closeApps, startApp, times } from '../support/nest-app';
import { RedisServer, sharedRedisUrl, uniquePrefix } from '../support/redis-server';

const FIVE = { rate: 0.001, capacity: 5, name: 'tries', scope: 'app', key: () => 'ada' } as const;
const outcomes: CallOutcome[] = [];

@Injectable()
class Closed implements CanActivate {
  canActivate(): boolean {
    throw new UnauthorizedException();
  }
}

@Controller()
class Login {
  @Post('login')
  @RateLimit({ ...FIVE, chargeOn: 'failure' })
  login(@Body() { password }: { password: string }) {
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }

  @Get('guarded')
  @UseGuards(Closed)
  @RateLimit({ ...FIVE, chargeOn: 'failure' })
  guarded() {
    return 'never';
  }

  @Get('piped')
  @RateLimit({ ...FIVE, chargeOn: 'success' })
  piped(@Query('n', ParseIntPipe) n: number) {
    return n;
  }

  @Get('asked')
  @RateLimit({
    ...FIVE,
    chargeOn: (outcome) => {
      outcomes.push(outcome);
      return outcome.statusCode === 418;
    },
  })
  asked() {
    return 'ok';
  }

  @Get('broken')
  @RateLimit({
    ...FIVE,
    chargeOn: () => {
      throw new Error('no idea');
    },
  })
  broken() {
    return 'ok';
  }

  @Get('slow')
  @RateLimit({ ...FIVE, chargeOn: 'failure' })
  async slow() {
    await delay(300);
    return 'late';
  }
}

async function start(adapter: () => never, options: RateLimitModuleOptions): Promise<App> {
  return startApp(
    {
      imports: [RateLimitModule.forRoot(options)],
      controllers: [Login],
      providers: [Closed, { provide: APP_GUARD, useClass: RateLimitGuard }],
    },
    { adapter },
  );
}

/** Tokens of the bucket, once what is on its way has come back. */
async function left(app: App, expected: number): Promise<number> {
  const limiter = app.nest.get(RateLimiterService);
  let available = -1;
  for (let tries = 0; tries < 100 && available !== expected; tries++) {
    available = (await limiter.getInfo('ada', FIVE))?.available ?? 5;
    if (available !== expected) await delay(20);
  }
  return available;
}

afterEach(async () => {
  outcomes.length = 0;
  await closeApps();
});

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  describe.each([
    ['memory', () => ({})],
    ['Redis', () => ({ redis: sharedRedisUrl(), keyPrefix: uniquePrefix() })],
  ])('with buckets in %s', (_store, options) => {
    let app: App;
    beforeEach(async () => {
      app = await start(adapter as never, options());
    });

    const tryWith = async (password: string) =>
      (await app.call('POST', '/login', { body: { password } })).status;

    it('failed logins count, good ones do not', async () => {
      for (let i = 0; i < 20; i++) {
        expect(await tryWith('right')).toBe(201);
        expect(await left(app, 5)).toBe(5);
      }
      const statuses: number[] = [];
      for (let i = 0; i < 6; i++) statuses.push(await tryWith('wrong'));
      expect(statuses).toEqual([...times(5, 401), 429]);
      expect(await left(app, 0)).toBe(0);
      // A locked account stays locked for the right password, too.
      expect(await tryWith('right')).toBe(429);
    });

    it('100 wrong passwords at once: exactly five are tried', async () => {
      const statuses = await Promise.all(times(100, 'wrong').map(tryWith));
      expect(statuses.filter((status) => status === 401)).toHaveLength(5);
      expect(statuses.filter((status) => status === 429)).toHaveLength(95);
      expect(await left(app, 0)).toBe(0);
    });

    it('the answers of other guards and of pipes count', async () => {
      expect(await app.statuses(2, '/guarded')).toEqual([401, 401]);
      expect(await left(app, 3)).toBe(3);
      expect(await app.statuses(2, '/piped?n=x')).toEqual([400, 400]);
      expect(await left(app, 3)).toBe(3);
      expect(await app.statuses(2, '/piped?n=1')).toEqual([200, 200]);
      expect(await left(app, 1)).toBe(1);
    });

    it('a function decides by the outcome; one that fails keeps the charge', async () => {
      expect(await app.statuses(7, '/asked')).toEqual(times(7, 200));
      expect(await left(app, 5)).toBe(5);
      expect(outcomes).toEqual(times(7, { statusCode: 200, aborted: false }));
      expect(await app.statuses(1, '/broken')).toEqual([200]);
      expect(await left(app, 4)).toBe(4);
    });

    it('a call whose client went away is a failure', async () => {
      const client = httpGet(`${app.url}/slow`);
      client.on('error', () => undefined);
      await delay(100);
      client.destroy();
      expect(await left(app, 4)).toBe(4);
      await delay(300);
      expect(await left(app, 4)).toBe(4);
    });
  });

  it('what was granted while Redis was out is not given back to it', async () => {
    const redis = await RedisServer.start();
    const app = await start(adapter as never, { redis: redis.url, storeTimeoutMs: 400 });
    const limiter = app.nest.get(RateLimiterService);
    await limiter.consume('ada', FIVE, { cost: 3 });
    redis.pause();
    expect((await app.call('POST', '/login', { body: { password: 'right' } })).status).toBe(201);
    redis.resume();
    for (let source = ''; source !== 'shared'; await delay(50)) {
      ({ source } = await limiter.peek('ada', FIVE));
    }
    await delay(200);
    expect((await limiter.getInfo('ada', FIVE))?.available).toBe(2);
    await redis.stop();
  }, 20_000);
});

describe('what makes no sense stops the start', () => {
  const starting = (options: RateLimitOptions, module: RateLimitModuleOptions = {}) => {
    @Controller()
    class Routes {
      @Get()
      @RateLimit({ rate: 1, ...options })
      get() {
        return 'ok';
      }
    }
    return buildApp({
      imports: [RateLimitModule.forRoot(module)],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
    });
  };

  it.each(['sometimes', 5, null, {}])('chargeOn %j', async (chargeOn) => {
    const start = async () => starting({ chargeOn } as never);
    await expect(start()).rejects.toThrow(InvalidLimitError);
    await expect(start()).rejects.toThrow('chargeOn');
  });

  it('a store that takes nothing back', async () => {
    const memory = new MemoryStore();
    const store = {
      source: 'memory' as const,
      take: memory.take.bind(memory),
      peek: memory.peek.bind(memory),
      reset: memory.reset.bind(memory),
    };
    const start = starting({ chargeOn: 'failure' }, { store });
    await expect(start).rejects.toThrow(UnsupportedOperationError);
  });
});
