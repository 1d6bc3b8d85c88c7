// What deferTo cannot serve is found at start-up, and said.
import {
  Body,
  Controller,
  Get,
  Headers,
  Injectable,
  Logger,
  type ModuleMetadata,
  Next,
  Param,
  Post,
  Query,
  Redirect,
  Render,
  Req,
  Res,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { EMPTY } from 'rxjs';
import {
  MemoryStore,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitOptions,
} from 'nest-rate-limit';
import {
  deferTo,
  RateLimitedProcessor,
  RateLimitQueueModule,
  RateLimitStatusModule,
} from 'nest-rate-limit/queue';
import { buildApp, closeApps } from '../support/nest-app';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

@RateLimitedProcessor('reports')
class Processor {
  process(): void {}
}

const limit = { rate: 1, onLimit: deferTo('reports') };

const redis = sharedRedisUrl();
const status = RateLimitStatusModule.forRoot();

function build(
  controller: new () => unknown,
  { module = {}, imports = [status], providers = [], queue = {} }: Parts = {},
) {
  return buildApp({
    imports: [
      RateLimitModule.forRoot({ redis, keyPrefix: uniquePrefix(), ...module }),
      RateLimitQueueModule.register({ name: 'reports', ...queue }),
      ...imports,
    ],
    controllers: [controller],
    providers: [Processor, { provide: APP_GUARD, useClass: RateLimitGuard }, ...providers],
  });
}

interface Parts {
  module?: Parameters<typeof RateLimitModule.forRoot>[0];
  imports?: NonNullable<ModuleMetadata['imports']>;
  providers?: NonNullable<ModuleMetadata['providers']>;
  queue?: object;
}

let warned: jest.SpyInstance;
beforeEach(() => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
});
afterEach(async () => {
  await closeApps();
  jest.restoreAllMocks();
});

/** What stops the start; a start that nothing stops fails the test. */
async function whatStops(controller: new () => unknown, parts?: Parts): Promise<string> {
  const error = await build(controller, parts).catch((reason: unknown) => reason as Error);
  return error instanceof Error ? `${error.name} ${error.message}` : 'nothing';
}

const warnings = () => warned.mock.calls.map(([text]: unknown[]) => text as string);

describe('stops the start for', () => {
  it('@Res() without passthrough, and @Next()', async () => {
    @Controller()
    class Resp {
      @Post()
      @RateLimit(limit)
      post(@Res() response: unknown) {
        return response;
      }
    }
    @Controller()
    class Nexts {
      @Post()
      @RateLimit(limit)
      post(@Next() next: unknown) {
        return next;
      }
    }
    const message =
      'post: deferTo("reports"): it answers by itself (@Res or @Next without passthrough';
    expect(await whatStops(Resp)).toContain(`Resp.${message}`);
    expect(await whatStops(Nexts)).toContain(`Nexts.${message}`);
  });

  it('events, views, redirects and streams', async () => {
    @Controller()
    class Events {
      @Sse()
      @RateLimit(limit)
      get() {
        return EMPTY;
      }
    }
    @Controller()
    class Views {
      @Get()
      @RateLimit(limit)
      @Render('page')
      get() {}
    }
    @Controller()
    class Redirects {
      @Redirect('/')
      @Get()
      @RateLimit(limit)
      get() {}
    }
    @Controller()
    class Files {
      @Get()
      @RateLimit(limit)
      get(): StreamableFile {
        return new StreamableFile(Buffer.from(''));
      }
    }
    expect(await whatStops(Events)).toContain(
      'Events.get: deferTo("reports"): it sends events (@Sse)',
    );
    expect(await whatStops(Views)).toContain(
      'Views.get: deferTo("reports"): it renders a view (@Render)',
    );
    expect(await whatStops(Redirects)).toContain(
      'Redirects.get: deferTo("reports"): it redirects (@Redirect)',
    );
    expect(await whatStops(Files)).toContain(
      'Files.get: deferTo("reports"): it returns a StreamableFile',
    );
  });

  it('methods that are no HTTP routes', async () => {
    @Injectable()
    class Resolver {
      @RateLimit(limit)
      reports() {}
    }
    @Controller()
    class None {}
    expect(
      await whatStops(None, {
        providers: [Resolver],
      }),
    ).toContain('Resolver.reports: deferTo("reports"): it is no HTTP route');
  });

  it('an unknown queue', async () => {
    @Controller()
    class Unknown {
      @Post()
      @RateLimit({ rate: 1, onLimit: deferTo('report') })
      post() {}
    }
    expect(await whatStops(Unknown)).toContain(
      'Unknown.post: deferTo("report"): this queue is not registered; known queues: reports',
    );
    await expect(
      buildApp({ imports: [RateLimitModule.forRoot({ redis })], controllers: [Unknown] }),
    ).rejects.toThrow(/deferTo\("report"\) needs that queue: import RateLimitQueueModule/);
  });

  it('buckets in memory: no job could pay them', async () => {
    @Controller()
    class Memory {
      @Post()
      @RateLimit(limit)
      post() {}
    }
    const queue = { connection: redis };
    const message =
      'Memory.post: deferTo("reports"): its jobs pay the bucket of the route, which is in this process\' memory';
    expect(await whatStops(Memory, { module: { redis: undefined }, queue })).toContain(message);
    const module = { redis: undefined, store: new MemoryStore() };
    expect(await whatStops(Memory, { module, queue })).toContain(message);
  });

  it.each<[string, Partial<RateLimitOptions>, string]>([
    ['chargeOn', { chargeOn: 'success' }, 'chargeOn "success" does not go with deferTo'],
    ['maxWaitMs', { maxWaitMs: 5 }, 'maxWaitMs 5 only goes with onLimit "wait"'],
    [
      'a payload that is none',
      { onLimit: deferTo('reports', { payload: 7 as never }) },
      'payload 7 is not',
    ],
    [
      'an unknown option',
      { onLimit: deferTo('reports', { data: 7 } as never) },
      'option "data" is unknown',
    ],
  ])('%s', async (_, options, message) => {
    @Controller()
    class Wrong {
      @Post()
      @RateLimit({ ...limit, ...options })
      post() {}
    }
    expect(await whatStops(Wrong)).toContain(message);
  });

  it('two limits that defer', async () => {
    @Controller()
    class Two {
      @Post()
      @RateLimit({ ...limit, name: 'a' })
      @RateLimit({ ...limit, name: 'b' })
      post() {}
    }
    expect(await whatStops(Two)).toContain('have deferTo, and only one');
  });

  it('limits that stand where they reach no handler: in the module, and on a base class', async () => {
    @Controller()
    class Named {
      @Post()
      @RateLimit('vendor')
      post() {}
    }
    const message = 'from where it stands it does not reach this handler';
    expect(
      await whatStops(Named, {
        module: { policies: { vendor: limit } },
      }),
    ).toContain(`Named.post: deferTo("reports"): ${message}`);
    @RateLimit(limit)
    class Base {}
    @Controller()
    class Derived extends Base {
      @Post()
      post() {}
    }
    expect(await whatStops(Derived)).toContain(`Derived.post: deferTo("reports"): ${message}`);
  });
});

describe('starts, and warns of', () => {
  it('parameters besides the body without a payload', async () => {
    @Controller()
    class Lossy {
      @Post(':id')
      @RateLimit(limit)
      post(@Body() body: unknown, @Param('id') id: string) {
        return [body, id];
      }
      @Post()
      @RateLimit(limit)
      all(@Req() request: unknown) {
        return typeof request;
      }
      @Post('fine')
      @RateLimit(limit)
      fine(@Body('a') a: unknown, @Body('b') b: unknown) {
        return [a, b];
      }
      @Post('given/:id')
      @RateLimit({ rate: 1, onLimit: deferTo('reports', { payload: () => ({}) }) })
      given(@Query() query: unknown, @Headers() headers: unknown) {
        return [query, headers];
      }
    }
    await build(Lossy);
    const text = 'deferTo("reports"): its job gets { body } only';
    expect(warnings()).toEqual([
      expect.stringContaining(`Lossy.post: ${text}`),
      expect.stringContaining(`Lossy.all: ${text}`),
    ]);
  });

  it('no status module, once', async () => {
    @Controller()
    class Silent {
      @Post()
      @RateLimit(limit)
      one() {}
      @Post('two')
      @RateLimit(limit)
      two() {}
    }
    await build(Silent, { imports: [] });
    expect(warnings()).toEqual([expect.stringContaining('import RateLimitStatusModule.forRoot()')]);
  });

  it('nothing else: passthrough, named policies with deferTo beside them, queues with numbers', async () => {
    @Controller()
    class Fine {
      @Post()
      @RateLimit('vendor', { onLimit: deferTo('reports') })
      post(@Body() body: unknown) {
        return body;
      }
      @Post('pass')
      @RateLimit(1, 2, { onLimit: deferTo('reports', { payload: () => 1 }) })
      pass(@Res({ passthrough: true }) response: unknown) {
        return typeof response;
      }
    }
    const module = { policies: { vendor: { rate: 5 } } };
    await build(Fine, { module, queue: { rate: 5, capacity: 5 } });
    expect(warnings()).toEqual([]);
  });
});

it('beside a limit that is charged by the outcome: a deferred call has none yet', async () => {
  @Controller()
  class Both {
    @Post()
    @RateLimit({ rate: 5, name: 'paid', chargeOn: 'success' })
    @RateLimit(limit)
    post(@Body() body: object) {
      return body;
    }
  }
  await expect(build(Both)).rejects.toThrow('"paid" has chargeOn and "default" has deferTo');
});
