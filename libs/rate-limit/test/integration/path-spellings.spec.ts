// Trial B77: what the router takes for one handler has one bucket, however the path is spelt.
import { Controller, Get, Version, VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import { APP_GUARD, RouterModule } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimit, RateLimiterService, RateLimitGuard, RateLimitModule } from 'nest-rate-limit';
import { Module } from '@nestjs/common';
import { ADAPTERS, buildApp, closeApps, startApp } from '../support/nest-app';

@Controller()
class Routes {
  @Get('login')
  @RateLimit(0.001, 3)
  login() {
    return 'ok';
  }
  @Get('items/:id')
  @RateLimit(0.001, 3)
  item() {
    return 'ok';
  }
}

const SPELLINGS = [
  '/login',
  '/login?x=1',
  '/login#top',
  '/%6Cogin',
  '/LOGIN',
  '/login/',
  '//login',
  '/%6C%6Fgin?y=2',
  '/login;jsessionid=1',
];

afterEach(closeApps);

const LENIENT_FASTIFY = () =>
  new FastifyAdapter({
    routerOptions: {
      caseSensitive: false,
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
    },
  });

describe.each([...ADAPTERS, ['a lenient Fastify', LENIENT_FASTIFY] as const])(
  'B77 on %s',
  (_, adapter) => {
    const start = () =>
      startApp(
        {
          imports: [RateLimitModule.forRoot()],
          controllers: [Routes],
          providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
        },
        { adapter },
      );

    it('spellings of one path', async () => {
      const app = await start();
      const reached: number[] = [];
      for (const path of SPELLINGS) {
        const { status } = await app.get(path);
        if (status !== 404) reached.push(status);
      }
      expect(reached.length).toBeGreaterThanOrEqual(5);
      expect(reached).toEqual([200, 200, 200, ...reached.slice(3).map(() => 429)]);
    });

    it('parameters do not enter the key', async () => {
      const app = await start();
      const statuses: number[] = [];
      for (const id of [1, 2, 3, 4]) statuses.push((await app.get(`/items/${id}`)).status);
      expect(statuses).toEqual([200, 200, 200, 429]);
    });
  },
);

describe('the scope of a handler', () => {
  const scopes = async (metadata: object, prepare?: Parameters<typeof buildApp>[1]) => {
    const nest = await buildApp(metadata, prepare);
    return nest
      .get(RateLimiterService)
      .routes()
      .map(({ scope }) => scope);
  };

  it('holds method, module path, template, version and host, not the global prefix', async () => {
    @Controller({ path: ['cats', 'dogs'], version: ['2', '1'], host: ':tenant.example.com' })
    class Pets {
      @Get(':id/')
      get() {
        return 'ok';
      }
      @Get()
      @Version(VERSION_NEUTRAL)
      list() {
        return 'ok';
      }
    }
    @Module({ controllers: [Pets] })
    class PetsModule {}
    const metadata = {
      imports: [
        RateLimitModule.forRoot(),
        PetsModule,
        RouterModule.register([{ path: 'api', module: PetsModule }]),
      ],
    };
    expect(
      await scopes(metadata, {
        prepare: (nest) => {
          nest.setGlobalPrefix('global');
          nest.enableVersioning({ type: VersioningType.HEADER, header: 'v' });
        },
      }),
    ).toEqual([
      'GET /api/cats/:id,/api/dogs/:id#1,2 :tenant.example.com',
      'GET /api/cats,/api/dogs#Symbol(VERSION_NEUTRAL) :tenant.example.com',
    ]);
  });

  it('tells versions of one path apart', async () => {
    @Controller('cats')
    class Cats {
      @Get()
      @Version('1')
      @RateLimit(1)
      one() {
        return 'ok';
      }
      @Get()
      @Version('2')
      @RateLimit(1)
      two() {
        return 'ok';
      }
    }
    const metadata = { imports: [RateLimitModule.forRoot()], controllers: [Cats] };
    const prepare = {
      prepare: (nest: Awaited<ReturnType<typeof buildApp>>) =>
        void nest.enableVersioning({ type: VersioningType.URI }),
    };
    expect(await scopes(metadata, prepare)).toEqual(['GET /cats#1', 'GET /cats#2']);
  });
});
