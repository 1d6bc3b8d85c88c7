// Trial B11: however often the guard is bound, a call is charged once.
import { Controller, Get, Injectable, Module, type Type, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  byIp,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
} from 'nest-rate-limit';
import { ADAPTERS, type App, closeApps, startApp, times } from '../support/nest-app';

@Injectable()
class StricterGuard extends RateLimitGuard {}

@Controller('everywhere')
@UseGuards(RateLimitGuard)
class Everywhere {
  @Get()
  @UseGuards(RateLimitGuard)
  @RateLimit(0.001, 10)
  get() {
    return 'ok';
  }
}

@Controller('subclass')
@UseGuards(StricterGuard, RateLimitGuard)
class Subclass {
  @Get()
  @RateLimit(0.001, 10)
  get() {
    return 'ok';
  }
}

@Controller('named')
@UseGuards(RateLimitGuard.only('ip'), RateLimitGuard.only('ip'), RateLimitGuard)
class Named {
  @Get()
  @RateLimit({ name: 'ip', rate: 0.001, capacity: 10, key: byIp() })
  get() {
    return 'ok';
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }] })
class FeatureOne {}
@Module({ providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }] })
class FeatureTwo {}

afterEach(closeApps);

describe.each(ADAPTERS)('B11 on %s', (_, adapter) => {
  async function expectOnce(app: App, path: string) {
    const takes = jest.spyOn(app.nest.get(RateLimiterService), 'decide');
    const remaining: string[] = [];
    for (let i = 0; i < 10; i++) {
      const { status, headers } = await app.get(path);
      expect(status).toBe(200);
      remaining.push(headers['x-ratelimit-remaining']);
    }
    expect(remaining).toEqual(['9', '8', '7', '6', '5', '4', '3', '2', '1', '0']);
    expect(takes).toHaveBeenCalledTimes(10);
    expect((await app.get(path)).status).toBe(429);
  }

  const start = (controller: Type, imports: Type[] = []) =>
    startApp(
      {
        imports: [RateLimitModule.forRoot(), ...imports],
        controllers: [controller],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
      },
      { adapter },
    );

  it('APP_GUARD, on the class and on the method', async () => {
    await expectOnce(await start(Everywhere), '/everywhere');
  });

  it('APP_GUARD in the root and in two feature modules', async () => {
    await expectOnce(await start(Everywhere, [FeatureOne, FeatureTwo]), '/everywhere');
  });

  it('a subclass of the guard beside the guard', async () => {
    await expectOnce(await start(Subclass), '/subclass');
  });

  it('only(…) twice, then the plain one', async () => {
    await expectOnce(await start(Named), '/named');
  });

  it('as a global guard made by hand', async () => {
    const app = await startApp(
      { imports: [RateLimitModule.forRoot()], controllers: [Everywhere] },
      { adapter, prepare: (nest) => nest.useGlobalGuards(nest.get(RateLimitGuard)) },
    );
    await expectOnce(app, '/everywhere');
  });

  it('two calls at the same time are two calls', async () => {
    const app = await start(Everywhere);
    const answers = await Promise.all(times(14, '/everywhere').map((path) => app.get(path)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(statuses.filter((status) => status === 429)).toHaveLength(4);
  });
});
