// RateLimitStatusModule over real HTTP: what becomes of deferred calls.
import { setTimeout as delay } from 'node:timers/promises';
import { Body, Controller, Logger, Post, Version, VersioningType } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { InvalidLimitError, RateLimit, RateLimitModule } from 'nest-rate-limit';
import { deferTo, RateLimitStatusModule } from 'nest-rate-limit/queue';
import { type DeferringApp, type JobAnswerBody, startDeferring } from '../support/deferring-app';
import { ADAPTERS, type Answer, closeApps, startApp } from '../support/nest-app';

@Controller('reports')
class Reports {
  /** Its job starts after 200 ms. */
  @Post()
  @RateLimit({ rate: 5, capacity: 1, onLimit: deferTo('reports') })
  soon(@Body() body: unknown) {
    return body;
  }
  @Post('late')
  @RateLimit({ rate: 1, per: 'minute', capacity: 1, onLimit: deferTo('reports') })
  late(@Body() body: unknown) {
    return body;
  }
}

@Controller('reports')
class VersionedReports {
  @Post('late')
  @Version('2')
  @RateLimit({ rate: 1, per: 'minute', capacity: 1, onLimit: deferTo('reports') })
  late() {
    return 'ok';
  }
}

const body = (answer: Answer) => answer.body as JobAnswerBody;

/** The second call of a route, which is deferred. */
async function deferred(
  app: DeferringApp,
  path = '/reports',
  data: unknown = {},
): Promise<JobAnswerBody> {
  await app.call('POST', path, { body: data });
  const answer = await app.call('POST', path, { body: data });
  expect(answer.status).toBe(202);
  return body(answer);
}

beforeEach(() => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  jest.spyOn(Logger.prototype, 'warn').mockImplementation();
});
afterEach(async () => {
  await closeApps();
  jest.restoreAllMocks();
});

describe.each(ADAPTERS)('the status of a job on %s', (_, adapter) => {
  const start = (options: Partial<Parameters<typeof startDeferring>[0]> = {}) =>
    startDeferring({ controllers: [Reports], adapter, ...options });

  it('is waiting, with the moment it starts', async () => {
    const app = await start();
    const { id, statusUrl, startsAt } = await deferred(app, '/reports/late');
    const answer = await app.get(statusUrl);
    expect(answer.status).toBe(200);
    const now = body(answer);
    expect(now).toEqual({
      id,
      state: 'waiting',
      startsAt: expect.any(Number) as number,
      position: 1,
      statusUrl,
    });
    expect(Math.abs(now.startsAt! - startsAt!)).toBeLessThanOrEqual(2);
    expect(answer.headers).toMatchObject({
      'retry-after': expect.stringMatching(/^(5\d|60)$/) as string,
      'cache-control': 'no-store',
    });
    expect(answer.headers['preference-applied']).toBeUndefined();
  });

  it('is active while it runs, then completed with its result', async () => {
    let end!: () => void;
    const mayEnd = new Promise<void>((resolve) => (end = resolve));
    const app = await start({ process: (data) => mayEnd.then(() => ({ done: data })) });
    const { id, statusUrl } = await deferred(app, '/reports', { city: 'Oslo' });
    while (app.runs.length === 0) await delay(20);
    const active = await app.get(statusUrl);
    expect(active.body).toEqual({ id, state: 'active', statusUrl });
    expect(active.headers['retry-after']).toBeUndefined();
    end();
    const completed = await app.get(statusUrl, { prefer: 'wait=10' });
    expect(completed.body).toEqual({
      id,
      state: 'completed',
      result: { done: { body: { city: 'Oslo' } } },
      statusUrl,
    });
    expect((await app.get(statusUrl)).body).toEqual(completed.body);
  });

  it('is failed, without what went wrong inside', async () => {
    const app = await start({
      process: () => {
        throw new Error('password of the database: 1234');
      },
    });
    const { id, statusUrl } = await deferred(app);
    const answer = await app.get(statusUrl, { prefer: 'wait=10' });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({ id, state: 'failed', statusUrl });
  });

  it('is expired when it could not start in time', async () => {
    const app = await start({ queue: { maxWaitMs: 400 } });
    // Nothing is picked up while it is paused.
    await app.queue.pause();
    const { id, statusUrl } = await deferred(app);
    await delay(500);
    await app.queue.resume();
    const answer = await app.get(statusUrl, { prefer: 'wait=10' });
    expect(answer.body).toEqual({ id, state: 'expired', statusUrl });
    expect(app.runs).toEqual([]);
  });

  it('is cancelled by DELETE, which frees its place; twice is the same', async () => {
    const app = await start();
    const { id, statusUrl } = await deferred(app, '/reports/late');
    const behind = body(await app.call('POST', '/reports/late', { body: {} }));
    expect(behind.position).toBe(2);
    for (let i = 0; i < 2; i++) {
      const answer = await app.call('DELETE', statusUrl);
      expect(answer).toMatchObject({ status: 200, body: { id, state: 'cancelled', statusUrl } });
    }
    expect(body(await app.get(statusUrl)).state).toBe('cancelled');
    expect(body(await app.get(behind.statusUrl)).position).toBe(1);
  });

  it('cannot be cancelled any more when it runs or has ended: 409', async () => {
    let end!: () => void;
    const mayEnd = new Promise<void>((resolve) => (end = resolve));
    const app = await start({ process: () => mayEnd });
    const { statusUrl } = await deferred(app);
    while (app.runs.length === 0) await delay(20);
    expect(await app.call('DELETE', statusUrl)).toMatchObject({
      status: 409,
      body: { message: 'the job is active: it can no longer be cancelled' },
    });
    end();
    await app.get(statusUrl, { prefer: 'wait=10' });
    expect((await app.call('DELETE', statusUrl)).status).toBe(409);
    expect(body(await app.get(statusUrl))).toMatchObject({ state: 'completed', result: null });
  });

  it('is 404 for what is not known, whatever it looks like; ids of others are no ids', async () => {
    const app = await start();
    // Added by another tool, under an id that can be guessed.
    await app.queue.bullQueue.add('report', {}, { jobId: 'monthly' });
    const { id } = await deferred(app, '/reports/late');
    const unknown = [
      '0'.repeat(32),
      id.slice(1),
      `${id}0`,
      id.toUpperCase().replace(/^./, 'F'),
      'monthly',
      '1',
      '..%2f..%2freports',
      '%00',
      '*',
    ];
    for (const each of unknown) {
      for (const method of ['GET', 'DELETE']) {
        const { status } = await app.call(method, `/rate-limit/jobs/${each}`);
        expect([each, status]).toEqual([each, 404]);
      }
    }
    // Nor is there a list of them.
    expect((await app.get('/rate-limit/jobs')).status).toBe(404);
    expect((await app.get('/rate-limit/jobs/')).status).toBe(404);
  });

  it('is forgotten with its result', async () => {
    const app = await start({ queue: { resultTtlMs: 1000, job: { removeOnComplete: true } } });
    const { statusUrl } = await deferred(app);
    expect(body(await app.get(statusUrl, { prefer: 'wait=10' })).state).toBe('completed');
    await delay(1100);
    expect((await app.get(statusUrl)).status).toBe(404);
  });

  it('is the same from any instance', async () => {
    const app = await start();
    const { statusUrl } = await deferred(app, '/reports/late');
    const other = await start(app.shared);
    expect(body(await other.get(statusUrl))).toMatchObject({ state: 'waiting', position: 1 });
    expect((await other.call('DELETE', statusUrl)).status).toBe(200);
    expect(body(await app.get(statusUrl)).state).toBe('cancelled');
  });

  describe('with Prefer: wait', () => {
    const timed = async (call: () => Promise<Answer>) => {
      const startMs = performance.now();
      const answer = await call();
      return { answer, tookMs: performance.now() - startMs };
    };

    it('is told as soon as the job has ended', async () => {
      const app = await start();
      const { statusUrl } = await deferred(app);
      const prefer = 'respond-async, wait=5';
      const { answer, tookMs } = await timed(() => app.get(statusUrl, { prefer }));
      expect(body(answer).state).toBe('completed');
      expect(tookMs).toBeLessThan(1500);
      expect(answer.headers).toMatchObject({ 'preference-applied': 'wait=5' });
      expect(answer.headers.vary).toContain('Prefer');
    });

    it('is told as it is when the time is up', async () => {
      const app = await start();
      const { statusUrl } = await deferred(app, '/reports/late');
      const { answer, tookMs } = await timed(() => app.get(statusUrl, { prefer: 'wait=1' }));
      expect(body(answer).state).toBe('waiting');
      expect(answer.headers['preference-applied']).toBe('wait=1');
      expect(tookMs).toBeGreaterThanOrEqual(995);
      expect(tookMs).toBeLessThan(1800);
    });

    it('waits no longer than 30 s, says so, and not at all for nonsense', async () => {
      const app = await start();
      const { statusUrl } = await deferred(app);
      const long = await app.get(statusUrl, { prefer: 'wait=86400' });
      expect(long.headers['preference-applied']).toBe('wait=30');
      expect(body(long).state).toBe('completed');
      const { statusUrl: other } = await deferred(app, '/reports/late');
      for (const prefer of ['wait=-1', 'wait=soon', 'wait', 'waiting=5', 'wait=1.5']) {
        const { answer, tookMs } = await timed(() => app.get(other, { prefer }));
        expect([prefer, answer.headers['preference-applied']]).toEqual([prefer, undefined]);
        expect(tookMs).toBeLessThan(900);
      }
    });

    it('is 404 at once for an unknown id', async () => {
      const app = await start();
      const unknown = `/rate-limit/jobs/${'0'.repeat(32)}`;
      const { answer, tookMs } = await timed(() => app.get(unknown, { prefer: 'wait=5' }));
      expect(answer.status).toBe(404);
      expect(tookMs).toBeLessThan(1000);
    });

    it('is told at once when the application closes', async () => {
      const app = await start();
      const { statusUrl } = await deferred(app, '/reports/late');
      const waiting = app.get(statusUrl, { prefer: 'wait=30' });
      await delay(200);
      const { tookMs, answer } = await timed(async () => {
        await app.nest.close();
        return waiting;
      });
      expect(tookMs).toBeLessThan(1500);
      expect(body(answer).state).toBe('waiting');
    });
  });

  it.each<[string, Partial<Parameters<typeof startDeferring>[0]>, string, string]>([
    [
      'a global prefix',
      { prepare: (nest) => nest.setGlobalPrefix('api') },
      '/api/reports/late',
      '/api/rate-limit/jobs/',
    ],
    [
      'a path of its own',
      { status: [RateLimitStatusModule.forRoot({ path: '/jobs/' })] },
      '/reports/late',
      '/jobs/',
    ],
    [
      'a prefix that it is excluded from',
      {
        prepare: (nest) => nest.setGlobalPrefix('api', { exclude: ['rate-limit/jobs/:id'] }),
      },
      '/api/reports/late',
      '/rate-limit/jobs/',
    ],
    [
      'RouterModule',
      {
        prepare: (nest) => nest.setGlobalPrefix('/api/'),
        status: [
          RateLimitStatusModule.forRoot(),
          RouterModule.register([{ path: 'internal', module: RateLimitStatusModule }]),
        ],
      },
      '/api/reports/late',
      '/api/internal/rate-limit/jobs/',
    ],
    [
      'versions in the path',
      {
        controllers: [VersionedReports],
        prepare: (nest) =>
          nest
            .setGlobalPrefix('api')
            .enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
      },
      '/api/v2/reports/late',
      '/api/rate-limit/jobs/',
    ],
  ])('is where Location says with %s', async (_case, options, path, expected) => {
    const app = await start(options);
    const { id, statusUrl } = await deferred(app, path);
    expect(statusUrl).toBe(expected + id);
    expect(await app.get(statusUrl)).toMatchObject({ status: 200, body: { id, statusUrl } });
    expect((await app.call('DELETE', statusUrl)).status).toBe(200);
  });

  it('is where Location says with versions in a header', async () => {
    const versioning = { type: VersioningType.HEADER, header: 'x-version' } as const;
    const app = await start({
      controllers: [VersionedReports],
      prepare: (nest) => nest.enableVersioning(versioning),
    });
    const headers = { 'x-version': '2' };
    await app.call('POST', '/reports/late', { headers });
    const { statusUrl } = body(await app.call('POST', '/reports/late', { headers }));
    for (const version of [{}, headers])
      expect((await app.get(statusUrl, version)).status).toBe(200);
  });

  it('is not promised without the module', async () => {
    const app = await start({ status: [] });
    await app.call('POST', '/reports/late', { body: {} });
    const answer = await app.call('POST', '/reports/late', { body: {} });
    expect(answer.status).toBe(202);
    expect(answer.headers.location).toBeUndefined();
    expect(answer.body).not.toHaveProperty('statusUrl');
  });

  it('needs no guard, and no queue to start', async () => {
    const app = await startApp(
      { imports: [RateLimitModule.forRoot(), RateLimitStatusModule.forRoot()] },
      { adapter },
    );
    expect((await app.get(`/rate-limit/jobs/${'a'.repeat(32)}`)).status).toBe(404);
  });
});

it.each([['jobs/:id'], ['a b'], [''], ['a//b'], [7]])('refuses the path %p', (path) => {
  expect(() => RateLimitStatusModule.forRoot({ path } as never)).toThrow(InvalidLimitError);
});

it('serves jobs that were submitted by hand, too', async () => {
  const app = await startDeferring({
    controllers: [],
    adapter: ADAPTERS[0][1],
    queue: { rate: 100, capacity: 100 },
  });
  const { id } = await app.queue.submit({ n: 1 });
  const answer = await app.get(`/rate-limit/jobs/${id}`, { prefer: 'wait=5' });
  expect(body(answer)).toMatchObject({ state: 'completed', result: { done: { n: 1 } } });
});
