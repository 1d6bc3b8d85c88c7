// RateLimitTestingModule: an application on the clock of its test. No Redis, no waiting.
import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  Post,
  type ModuleMetadata,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  byHeader,
  getStoreToken,
  InvalidLimitError,
  MemoryStore,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
} from 'nest-rate-limit';
import {
  deferTo,
  InjectRateLimitedQueue,
  JobExpiredError,
  RateLimitedProcessor,
  RateLimitedQueue,
  RateLimitQueueModule,
  RateLimitStatusModule,
  RetryKeyLater,
} from 'nest-rate-limit/queue';
import { FakeClock, RateLimitTestingModule } from 'nest-rate-limit/testing';
import { closeApps, startApp } from '../support/nest-app';

interface Mail {
  to: string;
}

const sent: [to: string, atMs: number][] = [];

@RateLimitedProcessor('mails')
class MailProcessor {
  refuseNext = false;

  constructor(private readonly clock: FakeClock) {}

  async process({ data }: { data: Mail }): Promise<string> {
    if (this.refuseNext) {
      this.refuseNext = false;
      throw new RetryKeyLater(1000);
    }
    await Promise.resolve();
    sent.push([data.to, this.clock.nowMs()]);
    return `sent to ${data.to}`;
  }
}

@RateLimitedProcessor('reports')
class ReportProcessor {
  process({ data }: { data: { body: unknown } }): unknown {
    return { built: data.body };
  }
}

@Injectable()
class Newsletter {
  constructor(
    @InjectRateLimitedQueue('mails') readonly mails: RateLimitedQueue<Mail, string>,
    readonly limiter: RateLimiterService,
  ) {}
}

@Controller()
class Routes {
  @Get('weather')
  @RateLimit({ rate: 1, per: 'minute', capacity: 2 })
  weather() {
    return 'sun';
  }
  @Get('patient')
  @RateLimit({
    name: 'patient',
    rate: 1,
    per: 'hour',
    capacity: 1,
    onLimit: 'wait',
    maxWaitMs: 3_600_000,
  })
  patient() {
    return 'at last';
  }
  @Post('reports')
  @RateLimit({ name: 'reports', rate: 1, per: 'minute', capacity: 1, onLimit: deferTo('reports') })
  report(@Body() body: unknown) {
    return { built: body };
  }
}

const policies = { vendor: { rate: 1, capacity: 4 } };
const guard = { provide: APP_GUARD, useClass: RateLimitGuard };
const mails = { name: 'mails', rate: 10, capacity: 1, key: ({ to }: Mail) => to.slice(0, 1) };

/** Composed for the test. */
const composed: ModuleMetadata = {
  imports: [
    RateLimitTestingModule.forRoot({ key: byHeader('x-key'), policies }),
    RateLimitTestingModule.registerQueue<Mail>(mails),
    RateLimitTestingModule.registerQueue({ name: 'reports' }),
    RateLimitStatusModule.forRoot(),
  ],
  controllers: [Routes],
  providers: [guard, MailProcessor, ReportProcessor, Newsletter],
};

/** As it would run, for a Redis that is not there. */
@Module({
  imports: [
    RateLimitModule.forRootAsync({
      useFactory: () => ({ redis: 'redis://127.0.0.1:1', key: byHeader('x-key'), policies }),
    }),
    RateLimitQueueModule.register<Mail>(mails),
    RateLimitQueueModule.registerAsync({ name: 'reports', useFactory: () => ({}) }),
    RateLimitStatusModule.forRoot(),
  ],
  controllers: [Routes],
  providers: [guard, MailProcessor, ReportProcessor, Newsletter],
})
class AppModule {}

async function overridden() {
  const clock = new FakeClock();
  const app = await startApp(
    {
      imports: [
        { module: AppModule, global: true, providers: [{ provide: FakeClock, useValue: clock }] },
      ],
    },
    { override: (builder) => RateLimitTestingModule.override(builder, clock) },
  );
  return { app, clock };
}

async function ofItsOwn() {
  const app = await startApp(composed);
  return { app, clock: app.nest.get(FakeClock) };
}

beforeEach(() => (sent.length = 0));
afterEach(closeApps);

describe.each([
  ['RateLimitTestingModule.forRoot', ofItsOwn],
  ['RateLimitTestingModule.override', overridden],
])('an application with %s', (_, start) => {
  const ann = { 'x-key': 'ann' };

  it('has its guard and its service on the clock', async () => {
    const { app, clock } = await start();
    expect(await app.statuses(3, '/weather', ann)).toEqual([200, 200, 429]);
    clock.advance(59_999);
    expect(await app.statuses(1, '/weather', ann)).toEqual([429]);
    clock.advance(1);
    expect(await app.statuses(2, '/weather', ann)).toEqual([200, 429]);

    const limiter = app.nest.get(RateLimiterService);
    expect((await limiter.consume('x', 'vendor', { cost: 4 })).allowed).toBe(true);
    expect((await limiter.consume('x', 'vendor')).retryAfterMs).toBe(1000);
    clock.advance(1000);
    expect(await limiter.consume('x', 'vendor')).toMatchObject({ allowed: true, source: 'memory' });

    const acquired = limiter.acquire('x', 'vendor', { cost: 4 });
    await clock.untilPending();
    await clock.advanceAsync(4000);
    expect(await acquired).toMatchObject({ allowed: true, waitedMs: 4000 });
  });

  it('holds a call until the clock says', async () => {
    const { app, clock } = await start();
    expect((await app.get('/patient', ann)).status).toBe(200);
    let answered = false;
    const answer = app.get('/patient', ann).finally(() => (answered = true));
    await clock.untilPending();
    await clock.advanceAsync(3_599_999);
    expect([answered, clock.pending]).toEqual([false, 1]);
    await clock.advanceAsync(1);
    expect(await answer).toMatchObject({ status: 200, body: 'at last' });
  });

  it('works its queue off, and lets what is too late expire', async () => {
    const { app, clock } = await start();
    const { mails: queue } = app.nest.get(Newsletter);
    const startMs = clock.nowMs();
    const tickets = await queue.submitMany(
      ['a1', 'a2', 'a3', 'b1'].map((to) => ({ data: { to } })),
    );
    expect(tickets.map(({ startsInMs }) => startsInMs)).toEqual([0, 100, 200, 0]);
    app.nest.get(MailProcessor).refuseNext = true;
    const late = await queue.submit({ to: 'a4' }, { maxWaitMs: 300 });
    const expired = late.result().catch((error: unknown) => error);
    await clock.advanceAsync(2000);
    expect(await expired).toBeInstanceOf(JobExpiredError);
    // a2 was refused upstream, which paused a for a second.
    expect(sent.map(([to, atMs]) => [to, atMs - startMs])).toEqual([
      ['a1', 0],
      ['b1', 0],
      ['a2', 1100],
      ['a3', 1200],
    ]);
    expect(await tickets[2].result()).toBe('sent to a3');
    expect(await queue.counts()).toEqual({ waiting: 0, active: 0, completed: 4, failed: 1 });
  });

  it('defers the calls of a route, and tells of their jobs', async () => {
    const { app, clock } = await start();
    const post = (n: number) => app.call('POST', '/reports', { headers: ann, body: { n } });
    expect(await post(1)).toMatchObject({ status: 201, body: { built: { n: 1 } } });
    const deferred = await post(2);
    expect(deferred).toMatchObject({ status: 202, body: { state: 'waiting', position: 1 } });
    expect(deferred.headers['retry-after']).toBe('60');
    const { statusUrl } = deferred.body as { statusUrl: string };
    const path = new URL(statusUrl, app.url).pathname;
    await clock.advanceAsync(59_999);
    expect((await app.get(path)).body).toMatchObject({ state: 'waiting' });
    await clock.advanceAsync(1);
    expect((await app.get(path)).body).toMatchObject({
      state: 'completed',
      result: { built: { n: 2 } },
    });
  });
});

describe('RateLimitTestingModule', () => {
  const compile = (...imports: NonNullable<ModuleMetadata['imports']>) =>
    Test.createTestingModule({ imports, providers: [MailProcessor] }).compile();

  it('takes the clock and the store that it is given', async () => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock });
    const module = await compile(
      RateLimitTestingModule.forRoot({ clock, store }),
      RateLimitTestingModule.registerQueue<Mail>(mails),
    );
    expect(module.get(FakeClock)).toBe(clock);
    await module.get(RateLimiterService).consume('a', { rate: 1 });
    expect(store.size).toBe(1);
    await module.close();
  });

  it('shares the bucket of a policy with its queue', async () => {
    const module = await compile(
      RateLimitTestingModule.forRoot({ policies }),
      RateLimitTestingModule.registerQueue<Mail>({
        name: 'mails',
        policy: 'vendor',
        share: 1,
        key: ({ to }) => to,
      }),
    );
    await module.init();
    const queue = module.get<RateLimitedQueue<Mail>>(Symbol.for('nest-rate-limit:queue:mails'));
    for (let i = 0; i < 3; i++) await queue.submit({ to: 'a' });
    expect(sent.length).toBe(3);
    const limiter = module.get(RateLimiterService);
    expect(await limiter.getInfo('a', 'vendor')).toMatchObject({ available: 1 });
    expect(module.get<MemoryStore>(getStoreToken())).toBeInstanceOf(MemoryStore);
    await module.close();
  });

  it('refuses Redis, and what no application could have', async () => {
    const redis = { redis: 'redis://localhost' };
    expect(() => RateLimitTestingModule.forRoot(redis as never)).toThrow(/redisStoreOn/);
    expect(() => RateLimitTestingModule.registerQueue({ name: '' })).toThrow(InvalidLimitError);
    const limiter = RateLimitTestingModule.forRoot({ policies });
    const start = async (
      ...options: Parameters<typeof RateLimitTestingModule.registerQueue>[0][]
    ) => {
      const queues = options.map((each) => RateLimitTestingModule.registerQueue(each));
      await (await compile(limiter, ...queues)).init();
    };
    await expect(start({ name: 'mails', policy: 'nope' })).rejects.toThrow(
      /"nope" is not registered/,
    );
    await expect(start({ name: 'mails', rate: -1 })).rejects.toThrow(/queue mails: rate -1/);
    await expect(start({ name: 'mails', rate: 1 }, { name: 'other', rate: 1 })).rejects.toThrow(
      /queue other has no processor/,
    );
    await expect(start({ name: 'other', rate: 1, submitOnly: true })).rejects.toThrow(
      /MailProcessor: queue "mails" is not registered/,
    );
  });
});
