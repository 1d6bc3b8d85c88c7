// deferTo over real HTTP: at once while tokens last, then 202 and a job that the route's bucket paces.
import {
  Body,
  type CallHandler,
  Controller,
  ForbiddenException,
  Get,
  Injectable,
  Logger,
  type NestInterceptor,
  Param,
  ParseIntPipe,
  type PipeTransform,
  Post,
  Query,
  UnprocessableEntityException,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { map, of } from 'rxjs';
import {
  byHeader,
  type Decision,
  headerKey,
  RateLimit,
  RateLimiterService,
  SkipRateLimit,
} from 'nest-rate-limit';
import { deferTo } from 'nest-rate-limit/queue';
import { type JobAnswerBody, startDeferring } from '../support/deferring-app';
import { ADAPTERS, type Answer, closeApps, times } from '../support/nest-app';
import { RedisServer } from '../support/redis-server';

const handled: unknown[] = [];

/** Refuses what is no report, and turns what is one into the form that the handler wants. */
@Injectable()
class ReportPipe implements PipeTransform {
  transform(value: { city?: unknown }) {
    if (typeof value?.city !== 'string') throw new UnprocessableEntityException('city');
    return { city: value.city.toUpperCase() };
  }
}

class NobodyGuard {
  canActivate(): boolean {
    throw new ForbiddenException();
  }
}

class EnvelopeInterceptor implements NestInterceptor {
  intercept(_: unknown, next: CallHandler) {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

const slow = { rate: 1, per: 'minute', capacity: 1 } as const;

@Controller('reports')
class Reports {
  readonly prefix = 'report of';

  @Post()
  @RateLimit({ ...slow, onLimit: deferTo('reports') })
  create(@Body(ReportPipe) report: { city: string }) {
    handled.push(report);
    return { text: `${this.prefix} ${report.city}` };
  }

  @Post('paced')
  @RateLimit({ rate: 20, capacity: 4, onLimit: deferTo('reports') })
  paced(@Body() body: { n: number }) {
    handled.push({ n: body.n, atMs: performance.now() });
    return 'ok';
  }

  @Post('four')
  @RateLimit({ ...slow, capacity: 4, onLimit: deferTo('reports') })
  four() {
    return 'ok';
  }

  @Post('keyed')
  @RateLimit({ ...slow, key: byHeader('x-caller'), onLimit: deferTo('reports') })
  keyed(@Body() body: unknown) {
    handled.push(body);
    return 'ok';
  }

  @Post('guarded')
  @UseGuards(NobodyGuard)
  @RateLimit({ ...slow, onLimit: deferTo('reports') })
  guarded() {
    return 'ok';
  }

  @Post('dear/:n')
  @RateLimit({
    ...slow,
    capacity: 5,
    cost: 3,
    onLimit: deferTo('reports', {
      payload: async (caller, n: number, lang: string) => ({
        n,
        lang,
        agent: await Promise.resolve(caller.headers['x-agent']),
      }),
    }),
  })
  dear(@Param('n', ParseIntPipe) n: number, @Query('lang') lang: string) {
    return { n, lang };
  }

  @Post('parts')
  @RateLimit({ ...slow, onLimit: deferTo('reports') })
  parts(@Body('from', ParseIntPipe) from: number, @Body('to') to: string) {
    return { from, to };
  }

  @Get('later')
  @RateLimit({ ...slow, onLimit: deferTo('reports') })
  later() {
    return of('an observable');
  }

  @Post('wrapped')
  @UseInterceptors(EnvelopeInterceptor)
  @RateLimit({ ...slow, onLimit: deferTo('reports') })
  wrapped() {
    return 'ok';
  }

  @Post('both')
  @RateLimit({ name: 'daily', rate: 2, per: 'day' })
  @RateLimit({ name: 'build', ...slow, onLimit: deferTo('reports') })
  both() {
    return 'ok';
  }

  @Post('wait')
  @RateLimit({ name: 'smooth', rate: 10, capacity: 1, onLimit: 'wait', maxWaitMs: 1000 })
  @RateLimit({ name: 'build', ...slow, onLimit: deferTo('reports') })
  waits() {
    return 'ok';
  }
}

const body = (answer: Answer) => answer.body as JobAnswerBody;

beforeEach(() => {
  handled.length = 0;
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  jest.spyOn(Logger.prototype, 'warn').mockImplementation();
});
afterEach(async () => {
  await closeApps();
  jest.restoreAllMocks();
});

describe.each(ADAPTERS)('deferTo on %s', (_, adapter) => {
  const start = (options: Partial<Parameters<typeof startDeferring>[0]> = {}) =>
    startDeferring({ controllers: [Reports], adapter, ...options });
  const oslo = { body: { city: 'oslo' } };

  it('runs the handler at once while tokens last, and answers 202 after that', async () => {
    const app = await start();
    const first = await app.call('POST', '/reports', oslo);
    expect(first).toMatchObject({ status: 201, body: { text: 'report of OSLO' } });
    expect(first.headers.location).toBeUndefined();

    const beforeMs = Date.now();
    const second = await app.call('POST', '/reports', oslo);
    expect(second.status).toBe(202);
    expect(body(second)).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      state: 'waiting',
      startsAt: expect.any(Number) as number,
      position: 1,
      statusUrl: `/rate-limit/jobs/${body(second).id}`,
    });
    // One token a minute, the last of which went a moment ago.
    expect(body(second).startsAt! - beforeMs).toBeGreaterThan(55_000);
    expect(body(second).startsAt! - beforeMs).toBeLessThan(61_000);
    expect(second.headers).toMatchObject({
      location: body(second).statusUrl,
      'retry-after': expect.stringMatching(/^(5[5-9]|60)$/) as string,
      'cache-control': 'no-store',
      'content-type': expect.stringContaining('application/json') as string,
      'x-ratelimit-remaining': '0',
    });
    const third = await app.call('POST', '/reports', oslo);
    expect(body(third)).toMatchObject({ position: 2 });
    expect(body(third).startsAt! - body(second).startsAt!).toBeGreaterThan(59_000);
    expect(handled).toEqual([{ city: 'OSLO' }]);
  });

  it('50 calls at once: the capacity runs at once, the others are paced, each ends once', async () => {
    const app = await start({ queue: { worker: { concurrency: 20 } } });
    const startMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (__, n) =>
        app.call('POST', '/reports/paced', { body: { n } }).then((answer) => ({ n, answer })),
      ),
    );
    const arrivedMs = performance.now() - startMs;
    const atOnce = answers.filter(({ answer }) => answer.status === 201);
    // What is refilled while the calls arrive is theirs, too.
    expect(atOnce.length).toBeGreaterThanOrEqual(4);
    expect(atOnce.length).toBeLessThanOrEqual(4 + arrivedMs / 50);
    const later = answers.filter(({ answer }) => answer.status === 202);
    expect(atOnce.length + later.length).toBe(50);
    expect(handled).toHaveLength(atOnce.length);
    const results = await Promise.all(
      later.map(async ({ n, answer }) => {
        const { statusUrl } = body(answer);
        let now: Answer;
        do now = await app.get(statusUrl, { prefer: 'wait=10' });
        while (body(now).state !== 'completed');
        return { n, result: body(now).result };
      }),
    );
    for (const { n, result } of results) expect(result).toEqual({ done: { body: { n } } });
    expect(app.runs).toHaveLength(later.length);

    const starts = [...(handled as { atMs: number }[]), ...app.runs].map(({ atMs }) => atMs);
    starts.sort((a, b) => a - b);
    // Whichever way they start: capacity + rate × time, and one for what is on its way.
    for (let i = 0; i < starts.length; i++) {
      for (let j = i; j < starts.length; j++) {
        expect(j - i + 1).toBeLessThanOrEqual(4 + (starts[j] - starts[i]) / 50 + 1);
      }
    }
    // 46 at 20 a second: nobody was kept waiting for nothing.
    expect(starts[49] - starts[0]).toBeGreaterThan(2200);
    expect(starts[49] - starts[0]).toBeLessThan(3500);
  }, 20_000);

  it('50 calls at once: exactly the capacity runs at once, the others stand in one line', async () => {
    const app = await start();
    const answers = await Promise.all(
      times(50, '/reports/four').map((path) => app.call('POST', path)),
    );
    const later = answers.filter(({ status }) => status === 202).map((answer) => body(answer));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
    const positions = later.map(({ position }) => position!).sort((a, b) => a - b);
    expect(positions).toEqual(Array.from({ length: 46 }, (__, i) => i + 1));
    expect(new Set(later.map(({ id }) => id)).size).toBe(46);
  });

  it('what a pipe refuses costs nothing and queues nothing', async () => {
    const app = await start();
    await app.call('POST', '/reports', oslo);
    const refused = await app.call('POST', '/reports', { body: { city: 7 } });
    expect(refused.status).toBe(422);
    expect(body(await app.call('POST', '/reports', oslo)).position).toBe(1);
  });

  it('what a later guard refuses queues nothing', async () => {
    const app = await start();
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await app.call('POST', '/reports/guarded'));
    expect(answers.map(({ status }) => status)).toEqual(times(3, 403));
    expect(app.runs).toEqual([]);
  });

  it('gives the job the body as the handler gets it, and the handler is not called', async () => {
    const app = await start();
    await app.call('POST', '/reports', oslo);
    const { id } = body(await app.call('POST', '/reports', oslo));
    expect(await app.data(id)).toEqual({ body: { city: 'OSLO' } });
    expect(handled).toHaveLength(1);
  });

  it('puts the body together from the parts that the handler takes', async () => {
    const app = await start({ queue: { maxWaitMs: 3_600_000 } });
    const call = () =>
      app.call('POST', '/reports/parts', { body: { from: '4', to: 'x', other: 1 } });
    expect((await call()).body).toEqual({ from: 4, to: 'x' });
    const { id } = body(await call());
    const data = await app.data(id);
    expect(data).toEqual({ body: { from: 4, to: 'x' } });
  });

  it('hands over what payload makes of the caller and the arguments, at the price of the call', async () => {
    const app = await start();
    const call = () =>
      app.call('POST', '/reports/dear/7?lang=no', { headers: { 'x-agent': 'curl' } });
    expect((await call()).body).toEqual({ n: 7, lang: 'no' });
    const { id, startsAt } = body(await call());
    // Two of the three tokens are there.
    expect(startsAt! - Date.now()).toBeGreaterThan(50_000);
    expect(startsAt! - Date.now()).toBeLessThan(61_000);
    expect(await app.data(id)).toEqual({ n: 7, lang: 'no', agent: 'curl' });
  });

  it('works with handlers that return observables, and with interceptors', async () => {
    const app = await start();
    expect((await app.get('/reports/later')).body).toBe('an observable');
    expect((await app.get('/reports/later')).status).toBe(202);
    expect((await app.call('POST', '/reports/wrapped')).body).toEqual({ data: 'ok' });
    const deferred = await app.call('POST', '/reports/wrapped');
    expect(deferred).toMatchObject({ status: 202, body: { data: { state: 'waiting' } } });
  });

  it('rejects before it defers: what another limit refuses is no job', async () => {
    const app = await start();
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await app.call('POST', '/reports/both'));
    expect(answers.map(({ status }) => status)).toEqual([201, 202, 429]);
    // The refused call is not in the line.
    expect(await app.waiting()).toBe(1);
  });

  it('defers before it waits', async () => {
    const app = await start();
    expect((await app.call('POST', '/reports/wait')).status).toBe(201);
    const startMs = performance.now();
    expect((await app.call('POST', '/reports/wait')).status).toBe(202);
    expect(performance.now() - startMs).toBeLessThan(600);
  });

  it('refuses a caller that is blocked: he shall not come in by the queue', async () => {
    const app = await start();
    await app.call('POST', '/reports', oslo);
    await app.nest.get(RateLimiterService).block('all', slow, 3_600_000);
    const answer = await app.call('POST', '/reports', oslo);
    expect(answer.status).toBe(429);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(3000);
    expect(await app.waiting()).toBe(0);
  });

  it('paces by what is configured for the caller', async () => {
    const app = await start();
    const limiter = app.nest.get(RateLimiterService);
    await limiter.configure('all', { rate: 5, capacity: 1 });
    await app.call('POST', '/reports', oslo);
    const { statusUrl, startsAt } = body(await app.call('POST', '/reports', oslo));
    expect(startsAt! - Date.now()).toBeLessThan(500);
    const done = await app.get(statusUrl, { prefer: 'wait=3' });
    expect(done.body).toMatchObject({ state: 'completed' });
  });

  it('tells of deferred calls by an event', async () => {
    const app = await start();
    const told: Decision[] = [];
    app.nest.get(RateLimiterService).events.on('deferred', (decision) => told.push(decision));
    await app.call('POST', '/reports', oslo);
    await app.call('POST', '/reports', oslo);
    expect(told).toMatchObject([{ policy: 'default', key: 'all' }]);
  });

  describe('an Idempotency-Key', () => {
    const call = (app: Awaited<ReturnType<typeof start>>, caller: string, key: string, n = 1) =>
      app.call('POST', '/reports/keyed', {
        headers: { 'x-caller': caller, 'idempotency-key': key },
        body: { n },
      });

    it('gives the same job, once; another payload is a conflict', async () => {
      const app = await start();
      await call(app, 'ann', 'first');
      const [one, again] = [await call(app, 'ann', 'k'), await call(app, 'ann', 'k')];
      expect([one.status, again.status]).toEqual([202, 202]);
      expect(again.headers.location).toBe(one.headers.location);
      expect(body(again)).toMatchObject({ id: body(one).id, state: 'waiting', position: 1 });
      const conflict = await call(app, 'ann', 'k', 2);
      expect(conflict).toMatchObject({ status: 409, body: { statusCode: 409 } });
      expect(await app.waiting()).toBe(1);
    });

    it('belongs to its caller: that of another is another job', async () => {
      const app = await start();
      await call(app, 'ann', 'first');
      await call(app, 'bob', 'first');
      const [ann, bob] = [await call(app, 'ann', 'k'), await call(app, 'bob', 'k')];
      expect(body(ann).id).not.toBe(body(bob).id);
    });

    it('is remembered when there are tokens again, and when the job has ended', async () => {
      const app = await start();
      await call(app, 'ann', 'first');
      const one = await call(app, 'ann', 'k');
      // With a free token, the repeat waits for its job all the same.
      await app.call('DELETE', body(one).statusUrl);
      await app.nest.get(RateLimiterService).reset(headerKey('x-caller', 'ann'));
      const again = await call(app, 'ann', 'k');
      expect(again.status).toBe(202);
      expect(body(again)).toEqual({
        id: body(one).id,
        state: 'cancelled',
        statusUrl: body(one).statusUrl,
      });
      expect(handled).toHaveLength(1);
    });

    it('of many calls at once makes one job', async () => {
      const app = await start();
      await call(app, 'ann', 'first');
      const answers = await Promise.all(times(20, 'k').map((key) => call(app, 'ann', key)));
      expect(new Set(answers.map((answer) => body(answer).id)).size).toBe(1);
      expect(await app.waiting()).toBe(1);
    });

    it('must not be empty', async () => {
      const app = await start();
      await call(app, 'ann', 'first');
      expect((await call(app, 'ann', '')).status).toBe(400);
    });
  });

  it('a full line is 429, a full queue 503, a wait that is too long 429', async () => {
    const app = await start({ queue: { maxQueue: 1, maxQueueTotal: 2 } });
    const call = (caller: string) =>
      app.call('POST', '/reports/keyed', { headers: { 'x-caller': caller }, body: {} });
    expect([(await call('a')).status, (await call('a')).status]).toEqual([201, 202]);
    const lineFull = await call('a');
    expect(lineFull).toMatchObject({
      status: 429,
      body: { detail: expect.stringContaining('Too many jobs') as string },
    });
    expect(Number(lineFull.headers['retry-after'])).toBeGreaterThan(100);
    await call('b');
    expect((await call('b')).status).toBe(202);
    await call('c');
    expect((await call('c')).status).toBe(503);
    const hasty = await start({ queue: { maxWaitMs: 1000 } });
    await hasty.call('POST', '/reports', oslo);
    expect((await hasty.call('POST', '/reports', oslo)).status).toBe(429);
  });

  it('Redis away at submit is 503, in time', async () => {
    const server = await RedisServer.start();
    const app = await start({ module: { redis: server.url, storeTimeoutMs: 100 } });
    expect((await app.call('POST', '/reports', oslo)).status).toBe(201);
    server.pause();
    const startMs = performance.now();
    const answers = [await app.call('POST', '/reports', oslo)];
    answers.push(await app.call('POST', '/reports', oslo));
    expect(performance.now() - startMs).toBeLessThan(4000);
    const away = answers.find(({ status }) => status === 503);
    expect(away?.headers['retry-after']).toBe('1');
    expect(handled.length).toBe(1 + answers.filter(({ status }) => status === 201).length);
    server.resume();
    await closeApps();
    await server.stop();
  });

  it('is for the class: all its routes, own and inherited', async () => {
    class Base {
      readonly name = 'made by';
      @Post('inherited')
      inherited(@Body() text: { a: number }) {
        return { by: this.name, text };
      }
    }
    @Controller('all')
    @RateLimit({ ...slow, onLimit: deferTo('reports') })
    class All extends Base {
      @Post('own')
      own() {
        return 'own';
      }
      @Post('free')
      @SkipRateLimit()
      free() {
        return 'free';
      }
    }
    @Controller('plain')
    class Plain extends Base {}
    const app = await start({ controllers: [All, Plain] });
    const twice = async (path: string) => {
      const call = () => app.call('POST', path, { body: { a: 1 } });
      return [await call(), await call()];
    };
    const [first, second] = await twice('/all/inherited');
    expect(first).toMatchObject({ status: 201, body: { by: 'made by', text: { a: 1 } } });
    expect(second.status).toBe(202);
    expect(await app.data(body(second).id)).toEqual({ body: { a: 1 } });
    expect((await twice('/all/own')).map(({ status }) => status)).toEqual([201, 202]);
    expect((await twice('/all/free')).map(({ status }) => status)).toEqual([201, 201]);
    expect((await twice('/plain/inherited')).map(({ status }) => status)).toEqual([201, 201]);
  });

  it('is inherited with the method that it stands on', async () => {
    class Base {
      @Post()
      @RateLimit({ ...slow, onLimit: deferTo('reports') })
      create(@Body() text: unknown) {
        return { class: this.constructor.name, text };
      }
    }
    @Controller('one')
    class One extends Base {}
    @Controller('two')
    class Two extends Base {
      override create(text: unknown) {
        return super.create({ from: 'two', text });
      }
    }
    // The override has a route and no limit of its own.
    Post()(Two.prototype, 'create', Object.getOwnPropertyDescriptor(Two.prototype, 'create')!);
    const app = await start({ controllers: [One, Two] });
    const call = (path: string) => app.call('POST', path, { body: { a: 1 } });
    expect((await call('/one')).body).toEqual({ class: 'One', text: { a: 1 } });
    expect((await call('/one')).status).toBe(202);
    for (let i = 0; i < 2; i++) {
      expect((await call('/two')).body).toEqual({
        class: 'Two',
        text: { from: 'two', text: { a: 1 } },
      });
    }
  });

  it('leaves a handler what it was: name, length, metadata, and a call by hand', () => {
    const { create } = Reports.prototype;
    expect([create.name, create.length]).toEqual(['create', 1]);
    expect(Reflect.getMetadata('path', create)).toBe('/');
    expect(Reflect.getMetadata('design:paramtypes', Reports.prototype, 'create')).toEqual([Object]);
    expect(new Reports().create({ city: 'x' })).toEqual({ text: 'report of x' });
  });
});
