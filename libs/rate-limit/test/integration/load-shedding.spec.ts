// LoadSheddingModule over real HTTP on both adapters: who is shed, what he is told, and what he is not charged.
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Logger } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  Criticality,
  type FleetShedderOptions,
  type LoadReading,
  LoadSheddingModule,
  type LoadSheddingOptions,
  MemoryStore,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type Shed,
} from 'nest-rate-limit';
import { ADAPTERS, type App, buildApp, closeApps, startApp, times } from '../support/nest-app';
import { RedisServer, sharedRedisUrl, uniquePrefix } from '../support/redis-server';

jest.setTimeout(30_000);
afterEach(closeApps);

/** Handlers that wait for the test. */
let open: Array<() => void>;
let running: number;
beforeEach(() => {
  [open, running] = [[], 0];
});
const hold = async () => {
  running++;
  await new Promise<void>((resolve) => open.push(resolve));
  running--;
};
const letGo = () => open.splice(0).forEach((each) => each());
const until = async (condition: () => boolean) => {
  while (!condition()) await delay(2);
};

@Controller()
class Plain {
  @Get('plain')
  plain() {
    return 'plain';
  }
  @Get('held')
  held() {
    return hold();
  }
  @Get('export')
  @Criticality('sheddable')
  export() {
    return 'export';
  }
}

@Controller('pay')
@Criticality('critical')
class Pay {
  @Get()
  pay() {
    return 'paid';
  }
  @Get('held')
  held() {
    return hold();
  }
  @Get('history')
  @Criticality('default')
  history() {
    return 'history';
  }
}

/** A load that is read at once. */
const pressed = (eventLoopDelayMs: number): LoadSheddingOptions => ({
  worker: { sampleMs: 10, riseMs: 1 },
  load: (): LoadReading => ({ eventLoopDelayMs, inFlight: 0 }),
  random: () => 0.5,
});

describe.each(ADAPTERS)('load shedding on %s', (_, adapter) => {
  async function start(
    shedding: LoadSheddingOptions,
    module: RateLimitModuleOptions = {},
  ): Promise<App & { shed: Shed[] }> {
    const app = await startApp(
      {
        imports: [RateLimitModule.forRoot(module), LoadSheddingModule.forRoot(shedding)],
        controllers: [Plain, Pay],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
      },
      { adapter },
    );
    const shed: Shed[] = [];
    app.nest.get(RateLimiterService).events.on('shed', (each) => shed.push(each));
    return Object.assign(app, { shed });
  }
  /** Statuses of the sheddable, the default, the critical call after some readings. */
  async function statuses(app: App): Promise<number[]> {
    for (let i = 0; i < 6; i++) {
      await delay(12);
      await app.get('/pay');
    }
    const paths = ['/export', '/plain', '/pay/history', '/pay'];
    return Promise.all(paths.map(async (path) => (await app.get(path)).status));
  }

  it.each([
    [20, [200, 200, 200, 200]],
    [150, [503, 200, 200, 200]],
    [1000, [503, 503, 503, 200]],
  ])('at an event loop %p ms late: %p', async (delayMs, expected) => {
    expect(await statuses(await start(pressed(delayMs)))).toEqual(expected);
  });

  it('says 503, when to come again, with its jitter, as a problem that nobody may cache', async () => {
    const app = await start({ ...pressed(1000), retryAfterMs: 4000, jitter: 0.8 });
    await statuses(app);
    app.shed.length = 0;
    const { status, headers, body } = await app.get('/export');
    expect(status).toBe(503);
    // 4 s × (1 + 0.8 × 0.5), rounded up
    expect(headers['retry-after']).toBe('6');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['content-type']).toContain('application/problem+json');
    expect(body).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporary Reduced Capacity',
      status: 503,
      detail: 'The service is busy, and takes what matters most first. Retry in 6 s.',
      'violated-policies': ['worker'],
      retryAfter: 6,
      cost: 1,
    });
    expect(app.shed).toEqual([
      { by: 'worker', criticality: 'sheddable', level: 1, retryAfterMs: 5600, shadow: false },
    ]);
  });

  it('comes before everything that charges', async () => {
    const app = await start(pressed(1000), { limit: { rate: 100, capacity: 100 } });
    await statuses(app);
    const refused = await app.get('/plain');
    expect(refused.status).toBe(503);
    expect(refused.headers).not.toHaveProperty('ratelimit');
  });

  it('a shadow sheds nobody and tells', async () => {
    const app = await start({ ...pressed(1000), mode: 'shadow' });
    expect(await statuses(app)).toEqual([200, 200, 200, 200]);
    expect(app.shed.map(({ criticality, shadow }) => [criticality, shadow])).toEqual(
      expect.arrayContaining([
        ['sheddable', true],
        ['default', true],
      ]),
    );
  });

  it('the application may say how much a call matters; a wrong word or a throw changes nothing', async () => {
    const app = await start({
      ...pressed(1000),
      criticalityOf: ({ headers }) => {
        if (headers['x-matters'] === 'throw') throw new Error('broken');
        return headers['x-matters'] as Criticality | undefined;
      },
    });
    await statuses(app);
    const ask = async (path: string, matters: string) =>
      (await app.get(path, { 'x-matters': matters })).status;
    expect(await ask('/plain', 'critical')).toBe(200);
    expect(await ask('/pay', 'sheddable')).toBe(503);
    expect(await ask('/pay', 'urgent')).toBe(200);
    expect(await ask('/pay', 'throw')).toBe(200);
    expect(await ask('/plain', 'throw')).toBe(503);
  });

  it('by what this process has in flight, until the answers are out', async () => {
    const app = await start({
      worker: {
        eventLoopDelayMs: false,
        inFlight: { from: 2, full: 4 },
        sampleMs: 10,
        riseMs: 1,
        fallMs: 1,
      },
      random: () => 0.5,
    });
    const held = times(8, 0).map(() => app.get('/pay/held'));
    await until(() => running === 8);
    expect(await statuses(app)).toEqual([503, 503, 503, 200]);
    letGo();
    await Promise.all(held);
    expect(await statuses(app)).toEqual([200, 200, 200, 200]);
  });

  describe('a fleet of 10 with 20 % for critical calls', () => {
    const FLEET = { max: 10, reserve: 0.2, leaseMs: 500 } satisfies FleetShedderOptions;
    const SHED = { worker: false, fleet: FLEET, random: () => 0 } satisfies LoadSheddingOptions;
    const fleet = async (keyPrefix = uniquePrefix(), redis = sharedRedisUrl()) => [
      await start(SHED, { redis, keyPrefix }),
      await start(SHED, { redis, keyPrefix }),
    ];

    it('8 calls over two instances, not one more; critical ones pass, as many as there are', async () => {
      const [one, other] = await fleet();
      const held = times(20, 0).map((_each, i) => (i % 2 ? one : other).get('/held'));
      await until(() => running === 8);
      expect(await other.get('/plain')).toMatchObject({
        status: 503,
        headers: { 'retry-after': '2' },
        body: { 'violated-policies': ['fleet'] },
      });
      expect((await one.get('/export')).status).toBe(503);
      const critical = times(12, 0).map((_each, i) => (i % 2 ? one : other).get('/pay/held'));
      await until(() => running === 20);
      letGo();
      expect((await Promise.all(critical)).map(({ status }) => status)).toEqual(times(12, 200));
      const others = (await Promise.all(held)).map(({ status }) => status);
      expect(others.filter((status) => status === 200)).toHaveLength(8);
      expect(others.filter((status) => status === 503)).toHaveLength(12);
      await delay(20);
      expect((await other.get('/plain')).status).toBe(200);
      expect([...one.shed, ...other.shed].every(({ by }) => by === 'fleet')).toBe(true);
    });

    it('critical calls count: with 8 of them nobody else has room', async () => {
      const [one, other] = await fleet();
      const critical = times(7, 0).map(() => one.get('/pay/held'));
      await until(() => running === 7);
      expect((await other.get('/plain')).status).toBe(200);
      critical.push(other.get('/pay/held'));
      await until(() => running === 8);
      expect((await other.get('/plain')).status).toBe(503);
      letGo();
      await Promise.all(critical);
    });

    it('in shadow calls go on, are told of, and are counted', async () => {
      const store = new MemoryStore();
      const app = await start({ ...SHED, mode: 'shadow' }, { store });
      const held = times(12, 0).map(() => app.get('/held'));
      await until(() => running === 12);
      expect(app.shed).toHaveLength(4);
      letGo();
      expect((await Promise.all(held)).map(({ status }) => status)).toEqual(times(12, 200));
    });

    it('the store out: this process counts alone, critical calls pass', async () => {
      const server = await RedisServer.start();
      const [one] = await fleet('out', server.url);
      await server.stop();
      const held = times(12, 0).map(() => one.get('/held'));
      await until(() => running === 8);
      await until(() => one.shed.length === 4);
      expect((await one.get('/pay')).status).toBe(200);
      letGo();
      await Promise.all(held);
    });

    it('the store out and closed: others are shed, critical calls pass all the same', async () => {
      const server = await RedisServer.start();
      const shedding = { ...SHED, fleet: { ...FLEET, onStoreFailure: 'closed' } } as const;
      const app = await start(shedding, { redis: server.url });
      expect((await app.get('/plain')).status).toBe(200);
      await server.stop();
      expect((await app.get('/plain')).status).toBe(503);
      expect((await app.get('/pay')).status).toBe(200);
    });

    it('a store that answers nonsense is not the outage: calls pass, and it is logged', async () => {
      const store = new MemoryStore();
      const app = await start(SHED, { store });
      let asked = 0;
      Object.assign(store.leases as object, {
        hold: () => {
          asked++;
          throw new Error('WRONGTYPE');
        },
      });
      expect([(await app.get('/plain')).status, (await app.get('/pay')).status]).toEqual([
        200, 200,
      ]);
      expect(asked).toBe(2);
    });
  });
});

describe('the start refuses', () => {
  const shedding = (options: unknown, rateLimit = true) =>
    buildApp({
      imports: [
        ...(rateLimit ? [RateLimitModule.forRoot()] : []),
        LoadSheddingModule.forRootAsync({ useFactory: () => options as LoadSheddingOptions }),
      ],
    });

  it.each([
    [{ fleet: { max: 0 } }, 'LoadSheddingModule: fleet: max 0 is not a whole number'],
    [{ fleet: { max: 10.5 } }, 'fleet: max 10.5 is not a whole number'],
    [{ fleet: { max: 10, reserve: 0 } }, 'fleet: reserve 0 is not a number between 0 and 1'],
    [{ fleet: { max: 10, reserve: 20 } }, 'fleet: reserve 20 is not a number between 0 and 1'],
    [{ fleet: { max: 1, reserve: 0.2 } }, 'leaves no call for others'],
    [{ fleet: { max: 10, leaseMs: 5 } }, 'fleet: leaseMs 5 is not a whole number from 100'],
    [{ fleet: { max: 10, share: 0.2 } }, 'fleet: option "share" is unknown'],
    [{ fleet: 5 }, 'fleet: 5 is not a set of options'],
    [{ worker: { riseMs: 0 } }, 'LoadSheddingModule: worker: riseMs 0'],
    [{ worker: { from: 5 } }, 'worker: option "from" is unknown'],
    [{ worker: false }, 'nothing is shed'],
    [{ mode: 'dark' }, 'mode "dark" is unknown'],
    [{ retryAfterMs: -1 }, 'retryAfterMs -1 is not a whole number'],
    [{ jitter: 11 }, 'jitter 11 is not a number from 0 to 10'],
    [{ random: 0.5 }, 'random 0.5 is not a function'],
    [{ load: 3 }, 'load 3 is not a function'],
    [{ criticalityOf: 'critical' }, 'criticalityOf "critical" is not a function'],
    [{ shadow: true }, 'option "shadow" is unknown'],
  ])('%j', async (options, message) => {
    await expect(shedding(options)).rejects.toThrow(message);
  });

  it('no RateLimitModule', async () => {
    await expect(shedding({}, false)).rejects.toThrow('there is no RateLimitModule');
  });

  it('a word that is no criticality', () => {
    expect(() => {
      class Wrong {
        @Criticality('urgent' as Criticality)
        get() {}
      }
      return Wrong;
    }).toThrow(
      'Wrong.get: @Criticality("urgent") is unknown: use "critical", "default", "sheddable"',
    );
  });
});

it('@Criticality without LoadSheddingModule: a line in the log says that nothing is shed', async () => {
  const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  try {
    await buildApp({
      imports: [RateLimitModule.forRoot(), LoadSheddingModule.forRoot()],
      controllers: [Pay],
    });
    expect(warned).not.toHaveBeenCalled();
    await buildApp({ imports: [RateLimitModule.forRoot()], controllers: [Pay] });
    expect(warned).toHaveBeenCalledWith(
      '@Criticality stands on Pay, but nothing is shed: import LoadSheddingModule.forRoot() as well',
    );
  } finally {
    warned.mockRestore();
  }
});

it('defaults: the event loop of this process is watched, and a process at rest sheds nothing', async () => {
  const app = await startApp({
    imports: [RateLimitModule.forRoot(), LoadSheddingModule.forRoot()],
    controllers: [Plain],
  });
  expect(await app.statuses(20, '/export')).toEqual(times(20, 200));
});
