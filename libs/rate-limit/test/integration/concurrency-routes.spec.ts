// @ConcurrencyLimit over real HTTP on both adapters: a slot is held until nothing of the request runs any more, and
// given back once.
import { once } from 'node:events';
import { type ClientRequest, get, type IncomingMessage, type Server } from 'node:http';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CanActivate,
  Controller,
  Get,
  Logger,
  Res,
  Sse,
  StreamableFile,
  type Type,
  UseGuards,
} from '@nestjs/common';
import {
  byHeader,
  ConcurrencyLimit,
  type ConcurrencyLimitOptions,
  MemoryStore,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nest-rate-limit';
import { Subject } from 'rxjs';
import { ADAPTERS, type App, buildApp, closeApps, startApp } from '../support/nest-app';
import { RedisServer, sharedRedisUrl, uniquePrefix } from '../support/redis-server';

jest.setTimeout(30_000);
afterEach(closeApps);

const key = byHeader('x-key');
const ONE = { max: 1, key, leaseMs: 400 };

/** Slots in memory, and what was held and released of them. */
class WatchedStore extends MemoryStore {
  readonly releases: string[] = [];
  readonly inFlight = new Set<string>();

  constructor() {
    super();
    const { leases } = this as { leases: NonNullable<MemoryStore['leases']> };
    Object.defineProperty(this, 'leases', {
      value: {
        hold: (request: Parameters<typeof leases.hold>[0]) => {
          const held = leases.hold(request);
          void Promise.resolve(held).then(
            ({ granted }) => granted && this.inFlight.add(request.id),
          );
          return held;
        },
        release: (request: Parameters<typeof leases.release>[0]) => {
          this.releases.push(request.id);
          this.inFlight.delete(request.id);
          return leases.release(request);
        },
      },
    });
  }
}

class Refusing implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

/** What handlers wait for, and how many of them run. */
class Gate {
  running = 0;
  #open!: () => void;
  #opened = new Promise<void>((resolve) => (this.#open = resolve));

  async pass(): Promise<void> {
    this.running++;
    await this.#opened;
    this.running--;
  }

  open(): void {
    this.#open();
    this.#opened = new Promise<void>((resolve) => (this.#open = resolve));
  }
}

/** A guard that asks somebody else, who takes his time. */
class Slow implements CanActivate {
  async canActivate(): Promise<boolean> {
    asked++;
    await answered;
    return true;
  }
}

let asked: number;
let answer: () => void;
let answered: Promise<void>;
let gate: Gate;
let events: Subject<{ data: string }>;
let streams: PassThrough[];
beforeEach(() => {
  [gate, events, streams] = [new Gate(), new Subject(), []];
  asked = 0;
  answered = new Promise((resolve) => (answer = resolve));
});

@Controller('slots')
class Slots {
  @Get('work')
  @ConcurrencyLimit(ONE)
  async work() {
    await gate.pass();
    return 'done';
  }

  @Get('slow')
  @ConcurrencyLimit(ONE)
  @UseGuards(Slow)
  async slow() {
    await gate.pass();
    return 'done';
  }

  @Get('file')
  @ConcurrencyLimit(ONE)
  file() {
    const stream = new PassThrough();
    streams.push(stream);
    stream.write('first ');
    return new StreamableFile(stream);
  }

  @Sse('events')
  @ConcurrencyLimit(ONE)
  events() {
    return events;
  }

  @Get('own')
  @ConcurrencyLimit(ONE)
  own(@Res() response: { raw?: IncomingMessage }) {
    const raw = (response.raw ?? response) as unknown as PassThrough;
    raw.write('first ');
    void gate.pass().then(() => raw.end('last'));
  }

  @Get('throws')
  @ConcurrencyLimit(ONE)
  throws() {
    throw new Error('broken');
  }

  @Get('refused')
  @ConcurrencyLimit(ONE)
  @UseGuards(Refusing)
  refused() {
    return 'never';
  }

  @Get('rated')
  @ConcurrencyLimit(ONE)
  @RateLimit({ rate: 1, per: 'hour', capacity: 1, key })
  async rated() {
    await gate.pass();
    return 'done';
  }
}

const MINE = { 'x-key': 'mine' };

describe.each(ADAPTERS)('a slot of a request on %s', (_, adapter) => {
  async function start(
    type: Type = Slots,
    options: RateLimitModuleOptions = {},
    guarded = true,
  ): Promise<App & { store: WatchedStore }> {
    const store = new WatchedStore();
    const imports = [
      RateLimitModule.forRoot({ ...(options.redis === undefined && { store }), ...options }),
    ];
    const prepare: Parameters<typeof startApp>[1] = {
      adapter,
      prepare: (nest) => guarded && nest.useGlobalGuards(nest.get(RateLimitGuard)),
    };
    return Object.assign(await startApp({ imports, controllers: [type] }, prepare), { store });
  }

  /** A request whose answer is left open. */
  async function open(app: App, path: string): Promise<[ClientRequest, IncomingMessage]> {
    const request = get(app.url + path, { headers: MINE });
    request.on('error', () => undefined);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    return [request, response];
  }

  const until = async (condition: () => boolean) => {
    while (!condition()) await delay(2);
  };
  const status = async (app: App, path: string) => (await app.get(path, MINE)).status;

  it('is refused with 429, Retry-After, a problem that nobody may cache; and free again after the answer', async () => {
    const app = await start();
    const first = app.get('/slots/work', MINE);
    await until(() => gate.running === 1);
    const refused = await app.get('/slots/work', MINE);
    expect(refused).toMatchObject({
      status: 429,
      headers: {
        'retry-after': '1',
        'cache-control': 'no-store',
        'content-type': expect.stringContaining('application/problem+json'),
      },
      body: { status: 429, retryAfter: 1, 'violated-policies': ['concurrency'] },
    });
    // Another caller has slots of his own.
    const other = app.get('/slots/work', { 'x-key': 'yours' });
    await until(() => gate.running === 2);
    gate.open();
    expect([(await first).status, (await other).status]).toEqual([200, 200]);
    await until(() => app.store.inFlight.size === 0);
    expect(app.store.releases).toHaveLength(2);
  });

  it('the same without any guard: the decorator brings what enforces it', async () => {
    const app = await start(Slots, {}, false);
    const first = app.get('/slots/work', MINE);
    await until(() => gate.running === 1);
    expect((await app.get('/slots/work', MINE)).body).toMatchObject({
      status: 429,
      retryAfter: 1,
      'violated-policies': ['concurrency'],
    });
    gate.open();
    await first;
    await until(() => app.store.inFlight.size === 0);
    expect(app.store.releases).toHaveLength(1);
    expect(await status(app, '/slots/throws')).toBe(500);
  });

  it('is held to the last byte of a stream', async () => {
    const app = await start();
    const [, response] = await open(app, '/slots/file');
    expect(await status(app, '/slots/file')).toBe(429);
    streams[0].end('last');
    response.resume();
    await once(response, 'end');
    await until(() => app.store.inFlight.size === 0);
    expect(app.store.releases).toHaveLength(1);
  });

  it('is held while server-sent events may come', async () => {
    const app = await start();
    const [request] = await open(app, '/slots/events');
    events.next({ data: 'one' });
    expect(await status(app, '/slots/events')).toBe(429);
    request.destroy();
    await until(() => app.store.inFlight.size === 0);
    const [, again] = await open(app, '/slots/events');
    events.complete();
    again.resume();
    await until(() => app.store.inFlight.size === 0);
    expect(app.store.releases).toHaveLength(2);
  });

  it('ends with the client in the middle of a download, well before a lease', async () => {
    const app = await start();
    const [request] = await open(app, '/slots/file');
    const startMs = performance.now();
    request.destroy();
    await until(() => app.store.inFlight.size === 0);
    expect(performance.now() - startMs).toBeLessThan(ONE.leaseMs / 2);
    await delay(ONE.leaseMs);
    expect(app.store.releases).toHaveLength(1);
  });

  it('a client that leaves does not end the work: the slot is held until the handler has ended', async () => {
    const app = await start();
    const request = get(`${app.url}/slots/work`, { headers: MINE });
    request.on('error', () => undefined);
    await until(() => gate.running === 1);
    request.destroy();
    await delay(ONE.leaseMs / 4);
    expect(await status(app, '/slots/work')).toBe(429);
    gate.open();
    await until(() => app.store.inFlight.size === 0);
    await delay(1.5 * ONE.leaseMs);
    expect(app.store.releases).toHaveLength(1);
  });

  it('a client that leaves before the handler starts keeps it from starting: its slot is free', async () => {
    const app = await start();
    const request = get(`${app.url}/slots/slow`, { headers: MINE });
    request.on('error', () => undefined);
    await until(() => asked === 1);
    request.destroy();
    // Where a guard took the slot, the end of the connection gives it back.
    if (app.store.inFlight.size > 0) await until(() => app.store.inFlight.size === 0);
    else await delay(50);
    answer();
    await delay(50);
    expect(gate.running).toBe(0);
    const next = app.get('/slots/slow', MINE);
    await until(() => gate.running === 1);
    gate.open();
    expect((await next).status).toBe(200);
    await until(() => app.store.inFlight.size === 0);
  });

  it('and for one lease more at most, if that never ends', async () => {
    const app = await start();
    const request = get(`${app.url}/slots/work`, { headers: MINE });
    request.on('error', () => undefined);
    await until(() => gate.running === 1);
    request.destroy();
    const startMs = performance.now();
    await until(() => app.store.inFlight.size === 0);
    expect(performance.now() - startMs).toBeGreaterThan(ONE.leaseMs / 2);
    expect(performance.now() - startMs).toBeLessThan(3 * ONE.leaseMs);
    gate.open();
    await delay(50);
    expect(app.store.releases).toHaveLength(1);
  });

  it('is held until an answer that the handler writes itself has ended', async () => {
    const app = await start();
    const [, response] = await open(app, '/slots/own');
    expect(await status(app, '/slots/own')).toBe(429);
    gate.open();
    response.resume();
    await once(response, 'end');
    await until(() => app.store.inFlight.size === 0);
    expect(app.store.releases).toHaveLength(1);
  });

  it('goes back when the handler throws, a later guard refuses, or a rate limit does', async () => {
    const app = await start();
    expect(await status(app, '/slots/throws')).toBe(500);
    expect(await status(app, '/slots/throws')).toBe(500);
    expect(await status(app, '/slots/refused')).toBe(403);
    expect(await status(app, '/slots/refused')).toBe(403);
    const first = app.get('/slots/rated', MINE);
    await until(() => gate.running === 1);
    gate.open();
    expect((await first).status).toBe(200);
    await until(() => app.store.inFlight.size === 0);
    expect((await app.get('/slots/rated', MINE)).body).toMatchObject({
      'violated-policies': ['default'],
    });
    expect(app.store.inFlight.size).toBe(0);
    expect(app.store.releases).toHaveLength(6);
    expect(new Set(app.store.releases).size).toBe(6);
  });

  it('a refusal for want of a slot charges no rate limit', async () => {
    const app = await start();
    const first = app.get('/slots/rated', MINE);
    await until(() => gate.running === 1);
    const refused = await app.get('/slots/rated', MINE);
    expect(refused.body).toMatchObject({ 'violated-policies': ['concurrency'] });
    expect(refused.headers).not.toHaveProperty('ratelimit');
    gate.open();
    await first;
  });

  it('limits of class and method add up by name; the nearest of a name wins; skips exempt', async () => {
    @Controller('many')
    @ConcurrencyLimit({ max: 1, name: 'class', scope: 'controller', key })
    @ConcurrencyLimit({ max: 5, name: 'both', key })
    class Many {
      @Get('a')
      @ConcurrencyLimit({ max: 1, name: 'both', key })
      async a() {
        await gate.pass();
      }
      @Get('b')
      async b() {
        await gate.pass();
      }
      @Get('free')
      @SkipRateLimit('class')
      async free() {
        await gate.pass();
      }
    }
    const app = await start(Many);
    const open = [app.get('/many/a', MINE)];
    await until(() => gate.running === 1);
    expect((await app.get('/many/b', MINE)).body).toMatchObject({
      'violated-policies': ['class'],
    });
    expect(app.store.inFlight.size).toBe(2);
    open.push(...Array.from({ length: 5 }, () => app.get('/many/free', MINE)));
    await until(() => gate.running === 6);
    expect((await app.get('/many/free', MINE)).body).toMatchObject({
      'violated-policies': ['both'],
    });
    gate.open();
    await Promise.all(open);
    await until(() => app.store.inFlight.size === 0);
  });

  it('a shadow refuses nobody, not even without a key, and tells', async () => {
    @Controller('shadow')
    class Shadow {
      @Get()
      @ConcurrencyLimit({ ...ONE, mode: 'shadow' })
      async work() {
        await gate.pass();
      }
    }
    const app = await start(Shadow);
    const denied: unknown[] = [];
    app.nest.get(RateLimiterService).events.on('denied', (...told) => denied.push(told));
    const calls = [app.get('/shadow', MINE), app.get('/shadow', MINE), app.get('/shadow')];
    await until(() => gate.running === 3);
    gate.open();
    expect((await Promise.all(calls)).map((each) => each.status)).toEqual([200, 200, 200]);
    expect(denied).toEqual([
      [
        expect.objectContaining({ policy: 'concurrency', key: 'header:x-key:mine' }),
        { shadow: true },
      ],
    ]);
  });

  it('without a key: 400, and nothing runs; skipped calls need none', async () => {
    @Controller('some')
    class Some {
      @Get()
      @ConcurrencyLimit({ ...ONE, skip: ({ query }) => query.free === '1' })
      work() {
        return 'done';
      }
    }
    const app = await start(Some);
    expect((await app.get('/some')).status).toBe(400);
    expect((await app.get('/some?free=1')).status).toBe(200);
    expect(app.store.releases).toHaveLength(0);
  });

  it('the store out: this process counts alone; closed answers 503', async () => {
    const server = await RedisServer.start();
    @Controller('out')
    class Out {
      @Get('local')
      @ConcurrencyLimit({ ...ONE, max: 2, localShare: 0.5 })
      async local() {
        await gate.pass();
      }
      @Get('closed')
      @ConcurrencyLimit({ ...ONE, onStoreFailure: 'closed' })
      closed() {
        return 'done';
      }
    }
    const app = await start(Out, { redis: server.url });
    expect(await status(app, '/out/closed')).toBe(200);
    await server.stop();
    const first = app.get('/out/local', MINE);
    await until(() => gate.running === 1);
    expect(await status(app, '/out/local')).toBe(429);
    gate.open();
    expect((await first).status).toBe(200);
    expect(await app.get('/out/closed', MINE)).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1', 'cache-control': 'no-store' },
      body: { title: 'Temporary Reduced Capacity' },
    });
  });
});

it('a server that closes cuts its answers; that they lose their slots is no error', async () => {
  const told = jest.spyOn(Logger.prototype, 'error').mockImplementation();
  try {
    const app = await startApp({
      imports: [RateLimitModule.forRoot({ redis: sharedRedisUrl(), keyPrefix: uniquePrefix() })],
      controllers: [Slots],
    });
    const cut = app.get('/slots/work', MINE).catch(() => 'cut');
    while (gate.running === 0) await delay(2);
    const closing = app.nest.close();
    (app.nest.getHttpServer() as Server).closeAllConnections();
    await closing;
    expect(await cut).toBe('cut');
    gate.open();
    await delay(20);
    expect(told).not.toHaveBeenCalled();
  } finally {
    told.mockRestore();
  }
});

describe('the start refuses', () => {
  it.each([
    [{ max: 0 }, 'max 0 is not a whole number from 1'],
    [{ max: 2.5 }, 'max 2.5 is not a whole number'],
    [{ max: 1, leaseMs: 99 }, 'leaseMs 99 is not a whole number from 100'],
    [{ max: 1, leaseMs: 0.5 }, 'leaseMs 0.5 is not a whole number'],
    [{ max: 1, key: 'ip' }, 'key "ip" is not a function'],
    [{ max: 1, scope: '' }, 'scope "" is not "route"'],
    [{ max: 1, name: 'Two Words' }, 'name "Two Words" is not a policy name'],
    [{ max: 1, limit: 5 }, 'option "limit" is unknown'],
    [5, '5 is not a set of options'],
    [undefined, 'undefined is not a set of options'],
    [{ max: 1, mode: 'dark' }, 'mode "dark" is unknown'],
  ])('%j', async (options, message) => {
    @Controller('bad')
    class Bad {
      @Get()
      @ConcurrencyLimit(options as ConcurrencyLimitOptions)
      get() {}
    }
    const starting = buildApp({ imports: [RateLimitModule.forRoot()], controllers: [Bad] });
    await expect(starting).rejects.toThrow(message);
    await expect(starting).rejects.toThrow('Bad.get: @ConcurrencyLimit');
  });

  it('two limits of one name', async () => {
    @Controller('twice')
    class Twice {
      @Get()
      @ConcurrencyLimit({ max: 1 })
      @ConcurrencyLimit({ max: 2 })
      get() {}
    }
    const starting = buildApp({ imports: [RateLimitModule.forRoot()], controllers: [Twice] });
    await expect(starting).rejects.toThrow('Twice.get: two concurrency limits have the name');
  });

  it('a store that has no slots', async () => {
    const store = new MemoryStore();
    Object.defineProperty(store, 'leases', { value: undefined });
    const imports = [RateLimitModule.forRoot({ store })];
    const starting = buildApp({ imports, controllers: [Slots] });
    await expect(starting).rejects.toThrow(
      'Slots.work: the store of RateLimitModule has no leases',
    );
  });

  it('a module that sees no RateLimitModule: the decorator could not be enforced', async () => {
    const starting = buildApp({ controllers: [Slots] });
    await expect(starting).rejects.toThrow('ConcurrencyInterceptor');
  });
});
