// Shadow mode: nothing may change the answer, whatever fails beside it. And the same faults where limits are enforced.
import { Controller, Get, Logger } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  ConcurrencyLimit,
  MemoryStore,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
  StoreConfigurationError,
} from 'nest-rate-limit';
import { ADAPTERS, closeApps, startApp } from '../support/nest-app';

function fails(): never {
  throw new Error('down');
}

/** Refuses every call about a bucket whose name has `part` in it, as Redis refuses one key of another type. */
function refusing(part: string): RateLimitStore {
  const store = new MemoryStore();
  return {
    source: 'shared',
    take: (charges) => {
      if (charges.some(({ bucket }) => bucket.includes(part))) {
        throw new StoreConfigurationError('WRONGTYPE');
      }
      return store.take(charges);
    },
    giveBack: (grants) => store.giveBack(grants),
    peek: (charges) => store.peek(charges),
    reset: (buckets) => store.reset(buckets),
  };
}

@Controller()
class Shadows {
  @Get('alone')
  @RateLimit({ name: 'beside', rate: 0.001, capacity: 1, mode: 'shadow' })
  alone() {
    return 'ok';
  }
  @Get('tier')
  @RateLimit({ rate: 0.001, capacity: 1, mode: 'shadow' })
  @RateLimit({ rate: 0.001, capacity: 1, mode: 'shadow', tier: 'pro' })
  tier() {
    return 'ok';
  }
  @Get('mixed')
  @RateLimit({ name: 'beside', rate: 0.001, capacity: 1, mode: 'shadow' })
  @RateLimit({ name: 'own', rate: 0.001, capacity: 2 })
  mixed() {
    return 'ok';
  }
  @Get('waits')
  @RateLimit({ name: 'beside', rate: 0.001, capacity: 1, mode: 'shadow' })
  @RateLimit({ name: 'own', rate: 0.001, capacity: 2, onLimit: 'wait', maxWaitMs: 1 })
  waits() {
    return 'ok';
  }
}

@Controller()
class Slots {
  @Get('slots')
  @ConcurrencyLimit({ max: 1, mode: 'shadow' })
  slots() {
    return 'ok';
  }
}

@Controller()
class Enforced {
  @Get('big')
  @RateLimit({ rate: 1, cost: () => 5n as never })
  big() {
    return 'ok';
  }
  @Get('text')
  @RateLimit({ rate: 1, cost: () => '5' as never })
  text() {
    return 'ok';
  }
  @Get('nan')
  @RateLimit({ rate: 1, cost: async () => Number.NaN })
  nan() {
    return 'ok';
  }
}

function app(controller: typeof Shadows | typeof Enforced | typeof Slots, options: object) {
  return {
    imports: [RateLimitModule.forRoot(options as RateLimitModuleOptions)],
    controllers: [controller],
    providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
  };
}

let told: jest.SpyInstance;
const tale = () => told.mock.calls.flat().join();
beforeEach(() => (told = jest.spyOn(Logger.prototype, 'error').mockImplementation()));
afterEach(async () => {
  told.mockRestore();
  await closeApps();
});

describe.each(ADAPTERS)('on %s', (_, adapter) => {
  it.each([
    ['/alone', [200, 200, 200]],
    ['/mixed', [200, 200, 429]],
    ['/waits', [200, 200, 429]],
  ])('a store that refuses the shadow of %s changes no answer, and is told', async (path, want) => {
    const { statuses } = await startApp(app(Shadows, { store: refusing('beside') }), { adapter });
    expect(await statuses(3, path)).toEqual(want);
    expect(tale()).toContain('WRONGTYPE');
  });

  it('a shadow beside a limit that waits is counted, and told when it would refuse', async () => {
    const { nest, statuses } = await startApp(app(Shadows, {}), { adapter });
    const denied: string[] = [];
    nest.get(RateLimiterService).events.on('denied', ({ policy }) => denied.push(policy));
    expect(await statuses(2, '/waits')).toEqual([200, 200]);
    expect(denied).toEqual(['beside']);
  });

  it('a skip of the module that fails', async () => {
    const { statuses } = await startApp(app(Shadows, { skip: fails }), { adapter });
    expect(await statuses(2, '/alone')).toEqual([200, 200]);
    expect(tale()).toContain('down');
    // Here a limit is enforced as well.
    expect(await statuses(1, '/mixed')).toEqual([500]);
  });

  it('a skip of the module that fails before slots', async () => {
    const { statuses } = await startApp(app(Slots, { skip: fails }), { adapter });
    expect(await statuses(2, '/slots')).toEqual([200, 200]);
    expect(tale()).toContain('down');
  });

  it('a tierOf that fails', async () => {
    const options = { tiers: { pro: { rate: 1 } }, tierOf: async () => fails() };
    const { statuses } = await startApp(app(Shadows, options), { adapter });
    expect(await statuses(2, '/tier')).toEqual([200, 200]);
    expect(tale()).toContain('down');
  });

  it.each([
    ['/big', 'Enforced.big: cost 5n of policy "default" is not a positive finite number'],
    ['/text', 'Enforced.text: cost "5" of policy "default" is not a positive finite number'],
    ['/nan', 'Enforced.nan: cost NaN of policy "default" is not a positive finite number'],
  ])('an enforced limit names the place and the value of a bad cost: %s', async (path, message) => {
    const { statuses } = await startApp(app(Enforced, {}), { adapter });
    expect(await statuses(1, path)).toEqual([500]);
    expect(tale()).toContain(message);
  });
});
