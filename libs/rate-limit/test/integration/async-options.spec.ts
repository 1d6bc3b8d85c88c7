// Trial B57: options from factories and classes are held to the same rules; text from the environment is refused.
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  InvalidLimitError,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitOptionsFactory,
} from 'nest-rate-limit';
import { ADAPTERS, buildApp, closeApps, startApp } from '../support/nest-app';

@Controller()
class Routes {
  @Get()
  get() {
    return 'ok';
  }
}

const OPTIONS: RateLimitModuleOptions = { limit: { rate: 0.001, capacity: 2 } };

@Injectable()
class Options implements RateLimitOptionsFactory {
  async createRateLimitOptions() {
    return OPTIONS;
  }
}
@Module({
  providers: [Options, { provide: 'CAPACITY', useValue: 2 }],
  exports: [Options, 'CAPACITY'],
})
class ConfigModule {}

afterEach(closeApps);

describe.each(ADAPTERS)('forRootAsync on %s', (_, adapter) => {
  it.each([
    [
      'useFactory',
      RateLimitModule.forRootAsync({
        imports: [ConfigModule],
        inject: ['CAPACITY'],
        useFactory: async (capacity: number) => ({ limit: { rate: 0.001, capacity } }),
      }),
    ],
    ['useClass', RateLimitModule.forRootAsync({ useClass: Options })],
    [
      'useExisting',
      RateLimitModule.forRootAsync({ imports: [ConfigModule], useExisting: Options }),
    ],
    ['a frozen object', RateLimitModule.forRootAsync({ useFactory: () => Object.freeze(OPTIONS) })],
  ])('%s', async (_how, module) => {
    const app = await startApp(
      {
        imports: [module],
        controllers: [Routes],
        providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
      },
      { adapter },
    );
    expect(await app.statuses(3, '/')).toEqual([200, 200, 429]);
  });
});

describe('B57: text where a number belongs stops the start', () => {
  const env = { RATE: '10', CAPACITY: '5', TIMEOUT: '1200', MISSING: undefined };
  it.each([
    [{ limit: { rate: env.RATE, capacity: 5 } }, 'RateLimitModule: limit: rate "10" is not'],
    [{ limit: { rate: 10, capacity: env.CAPACITY } }, 'limit: capacity "5" is not a number'],
    [{ limit: { rate: 10, per: env.TIMEOUT } }, 'limit: per "1200" is not a period'],
    [{ limit: { rate: env.MISSING } }, 'limit: rate undefined is not a number'],
    [{ policies: { a: { rate: 1, cost: '1' } } }, 'policies.a: cost "1" is neither'],
    [{ tiers: { a: { rate: env.RATE } } }, 'tiers.a: rate "10" is not a number'],
    [{ storeTimeoutMs: env.TIMEOUT }, 'storeTimeoutMs "1200" is not a whole number'],
    [{ maxBuckets: '1000' }, 'maxBuckets "1000" is not a whole number'],
    [{ localShare: '0.5' }, 'localShare "0.5" is not a number'],
    [{ isGlobal: true }, 'isGlobal true comes too late from a factory'],
    [undefined, 'RateLimitModule: undefined is not a set of options'],
  ])('%j', async (options, message) => {
    const module = RateLimitModule.forRootAsync({
      useFactory: () => options as RateLimitModuleOptions,
    });
    const build = buildApp({ imports: [module] });
    await expect(build).rejects.toThrow(InvalidLimitError);
    await expect(build).rejects.toThrow(message);
  });

  it('a capacity left out by the environment is the default, not NaN', async () => {
    const module = RateLimitModule.forRootAsync({
      useFactory: () => ({ limit: { rate: 0.5, capacity: env.MISSING } }),
    });
    const nest = await buildApp({ imports: [module] });
    const decision = await nest.get(RateLimiterService).consume('k');
    expect(decision).toMatchObject({ allowed: true, limit: 1, remaining: 0 });
  });
});
