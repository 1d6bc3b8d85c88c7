// The module for tests: buckets in memory, queues in this process, and one clock for all of it.
import { type DynamicModule, Module } from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE, SCHEDULER } from '../nest/rate-limit.constants';
import { RateLimitModule } from '../nest/rate-limit.module';
import type { RateLimitModuleOptions } from '../nest/rate-limit.options';
import { OPEN_QUEUE } from '../queue/rate-limit-queue.constants';
import { MemoryStore } from '../store/memory/memory-store';
import { FakeClock } from './fake-clock';
import { inProcessQueueModule, openQueueOn, QUEUE_AROUND } from './queue/in-process-queue.module';
import type { InProcessQueueOptions } from './queue/in-process-options';

/** Options of {@link RateLimitTestingModule}: those of the application's module, without its Redis. */
export interface RateLimitTestingOptions extends Omit<RateLimitModuleOptions, 'redis'> {
  /** @default a new one; the application's `get(FakeClock)` */
  clock?: FakeClock;
}

/** Nest's `Test.createTestingModule(…)`, as far as it is used here. */
export interface OverridableModule {
  overrideProvider(token: unknown): {
    useValue(value: unknown): unknown;
    useFactory(options: {
      // Nest's own types for what a factory may be handed.
      // oxlint-disable-next-line typescript/no-explicit-any
      factory: (...args: any[]) => unknown;
      // oxlint-disable-next-line typescript/no-explicit-any
      inject?: any[];
    }): unknown;
  };
}

/**
 * The limiter and its queues for tests: no Redis, no BullMQ, no waiting. What the application injects works as it does
 * with `RateLimitModule` and `RateLimitQueueModule`: guard, decorators, service, `@InjectRateLimitedQueue`,
 * `@RateLimitedProcessor`. Time stands still until {@link FakeClock} is moved.
 */
@Module({})
export class RateLimitTestingModule {
  /**
   * In place of `RateLimitModule.forRoot`. Global.
   * @throws InvalidLimitError, UnsupportedOperationError here or at start-up, naming option and value
   */
  static forRoot(options: RateLimitTestingOptions = {}): DynamicModule {
    const { clock = new FakeClock(), ...rest } = options;
    if ((rest as RateLimitModuleOptions).redis !== undefined) {
      throw new InvalidLimitError(
        'RateLimitTestingModule: redis cannot be set: for buckets in a real Redis, set store to redisStoreOn(clock, client)',
      );
    }
    const limiter = RateLimitModule.forRoot(rest);
    const { store = new MemoryStore({ clock, maxBuckets: rest.maxBuckets }) } = rest;
    return {
      module: RateLimitTestingModule,
      global: true,
      imports: [
        {
          ...limiter,
          providers: [
            ...(limiter.providers ?? []),
            { provide: SCHEDULER, useValue: clock },
            ...(rest.store === undefined ? [{ provide: RATE_LIMIT_STORE, useValue: store }] : []),
          ],
        },
      ],
      providers: [{ provide: FakeClock, useValue: clock }],
      exports: [FakeClock, RateLimitModule],
    };
  }

  /** In place of `RateLimitQueueModule.register`, with the same options. Global: import it in the root of the test. */
  static registerQueue<Data = unknown>(options: InProcessQueueOptions<Data>): DynamicModule {
    return inProcessQueueModule(options as InProcessQueueOptions<never>);
  }

  /**
   * Puts a whole application on `clock`, as it is: its `RateLimitModule` keeps its buckets in memory, whatever `redis`
   * and `store` say, and its `RateLimitQueueModule`s run their queues in this process. Nothing connects.
   *
   * ```ts
   * const clock = new FakeClock();
   * const builder = Test.createTestingModule({ imports: [AppModule] });
   * const module = await RateLimitTestingModule.override(builder, clock).compile();
   * ```
   */
  static override<Builder extends OverridableModule>(builder: Builder, clock: FakeClock): Builder {
    // One for all modules that share a Redis; those that do not, do not share buckets either.
    const shared = new MemoryStore({ clock });
    builder.overrideProvider(SCHEDULER).useValue(clock);
    builder.overrideProvider(RATE_LIMIT_STORE).useFactory({
      factory: ({ redis, maxBuckets }: RateLimitModuleOptions) =>
        redis === undefined ? new MemoryStore({ clock, maxBuckets }) : shared,
      inject: [RATE_LIMIT_OPTIONS],
    });
    builder.overrideProvider(OPEN_QUEUE).useFactory({
      factory: openQueueOn(clock),
      inject: QUEUE_AROUND,
    });
    return builder;
  }
}
