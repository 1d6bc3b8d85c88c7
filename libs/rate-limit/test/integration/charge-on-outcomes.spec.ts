// Which outcomes chargeOn counts, over real HTTP: everything that may answer, or never does. Its rules and bad input:
// charge-on.spec.ts.
import { request } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  type ArgumentsHost,
  Get,
  Logger,
  type ModuleMetadata,
  NotFoundException,
  Param,
  ParseIntPipe,
  Redirect,
  StreamableFile,
  UnauthorizedException,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  type CallOutcome,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptions,
} from 'nest-rate-limit';
import { ADAPTERS, type App, closeApps, startApp } from '../support/nest-app';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

const CAPACITY = 5;
const numbers = { rate: 0.001, capacity: CAPACITY };
const outcomes: CallOutcome[] = [];

class Locked implements CanActivate {
  canActivate(): boolean {
    throw new UnauthorizedException();
  }
}

@Catch()
class Answers implements ExceptionFilter {
  catch(_: unknown, host: ArgumentsHost) {
    const response = host.switchToHttp().getResponse<{
      status(code: number): { send(body: string): void };
    }>();
    response.status(200).send('mended');
  }
}

// Each call gives back one of the two, so it is known when it was settled.
@Controller()
@RateLimit('failures')
@RateLimit('successes')
class Routes {
  @Get('ok')
  ok() {
    return 'ok';
  }
  @Get('moved')
  @Redirect('/ok', 302)
  moved() {
    return undefined;
  }
  @Get('stream')
  stream() {
    const body = new PassThrough();
    body.write('a');
    setTimeout(() => body.end('b'), 20);
    return new StreamableFile(body);
  }
  @Get('mended')
  @UseFilters(Answers)
  mended() {
    throw new Error('broken');
  }
  @Get('login')
  login() {
    throw new UnauthorizedException();
  }
  @Get('throws')
  throws() {
    throw new Error('broken');
  }
  @Get('locked')
  @UseGuards(Locked)
  locked() {
    return 'never';
  }
  @Get('number/:id')
  number(@Param('id', ParseIntPipe) id: number) {
    return `${id}`;
  }
  @Get('endless')
  endless() {
    const body = new PassThrough();
    body.write('a');
    return new StreamableFile(body);
  }
  @Get('silent')
  silent() {
    return new Promise<never>(() => undefined);
  }
  @Get('gated')
  @RateLimit('failures')
  @RateLimit('successes')
  @RateLimit({ ...numbers, name: 'gate', capacity: 1 })
  gated() {
    return 'ok';
  }
  @Get('judged')
  @RateLimit('judged')
  judged() {
    throw new NotFoundException();
  }
  @Get('paced')
  @RateLimit('paced')
  paced() {
    throw new UnauthorizedException();
  }
  @Get('lane')
  @RateLimit('lane')
  lane() {
    return 'ok';
  }
  @Get('window')
  @RateLimit('window')
  window() {
    return 'ok';
  }
  @Get('shaded')
  @RateLimit('shade')
  shaded() {
    return 'ok';
  }
}

const policies: Record<string, RateLimitOptions> = {
  failures: { ...numbers, chargeOn: 'failure' },
  successes: { ...numbers, chargeOn: 'success' },
  judged: {
    ...numbers,
    chargeOn: (outcome) => {
      outcomes.push(outcome);
      return outcome.statusCode !== 404;
    },
  },
  paced: { rate: 0.01, capacity: 1, onLimit: 'wait', maxWaitMs: 500, chargeOn: 'success' },
  lane: { rate: 0.01, capacity: 1, algorithm: 'leaky-bucket', chargeOn: 'failure' },
  window: { rate: 1, per: 'day', algorithm: 'fixed-window', chargeOn: 'failure' },
  shade: { ...numbers, chargeOn: 'failure', mode: 'shadow' },
};

function guarded(
  options: RateLimitModuleOptions,
  controllers: ModuleMetadata['controllers'] = [Routes],
): ModuleMetadata {
  return {
    imports: [RateLimitModule.forRoot({ key: () => 'all', policies, ...options })],
    controllers,
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

async function left({ nest }: App, policy: string): Promise<number> {
  const info = await nest.get(RateLimiterService).getInfo('all', policy);
  return info?.available ?? (policies[policy].capacity as number);
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; !(await isSo()); i++) {
    if (i > 300) throw new Error('it never came about');
    await delay(10);
  }
}

/** Which of the two limits counted the one call that was made. */
async function counted(app: App): Promise<'failure' | 'success'> {
  let tokens: [failures: number, successes: number] = [0, 0];
  await until(async () => {
    tokens = [await left(app, 'failures'), await left(app, 'successes')];
    return tokens[0] + tokens[1] === 2 * CAPACITY - 1;
  });
  return tokens[0] < CAPACITY ? 'failure' : 'success';
}

/** Starts a call; returns what makes its client leave. */
function started(app: App, path: string): () => void {
  const call = request(app.url + path).on('error', () => undefined);
  call.on('response', (answer) => answer.on('error', () => undefined).resume());
  call.end();
  return () => call.destroy();
}

beforeEach(() => {
  outcomes.length = 0;
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
});
afterEach(async () => {
  await closeApps();
  jest.restoreAllMocks();
});

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  describe.each([
    ['memory', () => ({})],
    ['Redis', () => ({ redis: sharedRedisUrl(), keyPrefix: uniquePrefix() })],
  ])('with buckets in %s', (_store, options) => {
    const start = () => startApp(guarded(options()), { adapter });

    it.each([
      ['an answer', '/ok', 200, 'success'],
      ['a redirect', '/moved', 302, 'success'],
      ['a stream to its end', '/stream', 200, 'success'],
      ['an error that a filter made good', '/mended', 200, 'success'],
      ['a 401 of the handler', '/login', 401, 'failure'],
      ['a 500', '/throws', 500, 'failure'],
      ['a guard after ours', '/locked', 401, 'failure'],
      ['a pipe', '/number/x', 400, 'failure'],
    ] as const)('%s', async (_what, path, status, kind) => {
      const app = await start();
      const answer = await fetch(app.url + path, { redirect: 'manual' });
      await answer.text();
      expect(answer.status).toBe(status);
      expect(answer.headers.get('x-ratelimit-remaining')).toBe(`${CAPACITY - 1}`);
      expect(await counted(app)).toBe(kind);
    });

    it.each(['/endless', '/silent'])('%s, until its client leaves: a failure', async (path) => {
      const app = await start();
      const leave = started(app, path);
      await until(async () => (await left(app, 'failures')) === CAPACITY - 1);
      // Held as long as nothing has ended.
      expect(await left(app, 'successes')).toBe(CAPACITY - 1);
      leave();
      expect(await counted(app)).toBe('failure');
    });

    it('gives nothing back for a call that was refused, as nothing was taken', async () => {
      const app = await start();
      expect(await app.statuses(1, '/gated')).toEqual([200]);
      expect(await counted(app)).toBe('success');
      expect(await app.statuses(2, '/gated')).toEqual([429, 429]);
      expect(await counted(app)).toBe('success');
    });

    it('a function is told of the outcome, and its false gives back', async () => {
      const app = await start();
      expect(await app.statuses(1, '/judged')).toEqual([404]);
      await until(async () => (await left(app, 'judged')) === CAPACITY);
      expect(outcomes).toEqual([{ statusCode: 404, aborted: false }]);
    });

    it('goes with onLimit "wait"', async () => {
      const app = await start();
      for (let i = 0; i < 3; i++) {
        expect(await app.statuses(1, '/paced')).toEqual([401]);
        await until(async () => (await left(app, 'paced')) === 1);
      }
    });

    it.each(['lane', 'window'])('gives back to a %s', async (name) => {
      const app = await start();
      for (let i = 0; i < 3; i++) {
        expect(await app.statuses(1, `/${name}`)).toEqual([200]);
        // All were settled when these were: they belong to one answer.
        await until(async () => (await left(app, 'failures')) === CAPACITY);
        await delay(50);
      }
    });

    it('a shadow limit counts as it would; what it would have refused gets nothing back', async () => {
      const app = await start();
      const limiter = app.nest.get(RateLimiterService);
      expect(await app.statuses(1, '/shaded')).toEqual([200]);
      await until(async () => (await left(app, 'shade')) === CAPACITY);
      await limiter.penalize('all', 'shade', CAPACITY + 2);
      expect(await app.statuses(1, '/shaded')).toEqual([200]);
      await until(async () => (await left(app, 'failures')) === CAPACITY);
      await limiter.refund('all', 'shade', 3);
      expect(await left(app, 'shade')).toBe(1);
    });
  });
});
