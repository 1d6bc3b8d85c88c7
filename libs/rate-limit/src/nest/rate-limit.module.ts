// The module: puts the parts together, checks everything before the first request, and cleans up.
import {
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { InvalidLimitError } from '../core/errors';
import { recordedCriticality } from './criticality.decorator';
import { StartUpLint } from './lint/start-up-lint';
import { PlanTable } from './plan-table';
import { Planner } from './planner';
import { RateLimitErrorFilter } from './rate-limit-error.filter';
import {
  LOAD_SHEDDING_OPTIONS,
  POLICY_REGISTRY,
  RATE_LIMIT_OPTIONS,
  RATE_LIMIT_STORE,
} from './rate-limit.constants';
import { RateLimitGuard } from './rate-limit.guard';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  type OPTIONS_TYPE,
} from './rate-limit.module-definition';
import type { RateLimitModuleOptions } from './rate-limit.options';
import { rateLimitProviders } from './rate-limit.providers';
import { RateLimiterService } from './rate-limiter.service';
import { RequestLimiter } from './request-limiter';

/**
 * Limits handlers (with {@link RateLimitGuard}) and whatever asks {@link RateLimiterService}.
 *
 * Global unless `isGlobal: false`. Several registrations with `isGlobal: false` live side by side; a
 * handler is limited by the one that its module imports.
 */
@Module({
  providers: rateLimitProviders,
  exports: [
    RateLimiterService,
    RateLimitGuard,
    RequestLimiter,
    RATE_LIMIT_STORE,
    // For the queue: it shares the connection and the policies.
    RATE_LIMIT_OPTIONS,
    POLICY_REGISTRY,
  ],
})
export class RateLimitModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown
{
  readonly #logger = new Logger(RateLimitModule.name);

  constructor(
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(Planner) private readonly planner: Planner,
    @Inject(PlanTable) private readonly plans: PlanTable,
    @Inject(RequestLimiter) private readonly requests: RequestLimiter,
    @Inject(RateLimiterService) private readonly limiter: RateLimiterService,
    @Inject(StartUpLint) private readonly lint: StartUpLint,
    @Inject(ApplicationConfig) config: ApplicationConfig,
    @Inject(RateLimitErrorFilter) filter: RateLimitErrorFilter,
  ) {
    super();
    // Nest asks the last filter first. Now is before any of the application is added: APP_FILTER here
    // would come before one in the root module.
    config.addGlobalFilter(filter);
  }

  /** @throws InvalidLimitError, UnsupportedOperationError here or at start-up, naming option and value */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      // Not shown: it may be a URL with a password.
      throw new InvalidLimitError(
        `RateLimitModule: forRoot takes a set of options, not a ${typeof options}`,
      );
    }
    return super.forRoot(options);
  }

  /** Options from a factory, held to the same rules. `isGlobal` stands beside `useFactory`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }

  /** @throws InvalidLimitError, UnknownPolicyError, UnsupportedOperationError naming the handler */
  async onModuleInit(): Promise<void> {
    try {
      this.plans.explore();
      this.requests.checkExpected();
    } catch (error) {
      // Nest runs no shutdown hooks for a start that failed.
      await this.limiter.close();
      throw error;
    }
    this.#checkCriticality();
    this.#logger.log(`a guarded route without a decorator gets ${this.#undecorated()}`);
  }

  /** Says what is probably a mistake: by now guards, routes and the store are what they will be. */
  async onApplicationBootstrap(): Promise<void> {
    await this.lint.run();
  }

  /** Closes what was opened here, after the last request. */
  async onApplicationShutdown(): Promise<void> {
    await this.limiter.close();
  }

  /** Nothing of `LoadSheddingModule` is there to notice that it is missing. */
  #checkCriticality(): void {
    if (this.plans.provided(LOAD_SHEDDING_OPTIONS) !== undefined) return;
    const unheeded = this.plans.handlers.find(
      ([type, { handler }]) => recordedCriticality(type, handler) !== undefined,
    );
    if (unheeded === undefined) return;
    this.#logger.warn(
      `@Criticality stands on ${unheeded[0].name}, but nothing is shed: import LoadSheddingModule.forRoot() as well`,
    );
  }

  #undecorated(): string {
    const always = [...this.planner.alwaysNames];
    const besides = always.length === 0 ? '' : `, and besides always ${always.join(', ')}`;
    const { limit, tiers } = this.options;
    switch (this.planner.undecorated) {
      case 'limit':
        return `the limit of the module (rate ${limit?.rate} per ${limit?.per ?? 'second'})${besides}`;
      case 'tiers':
        return `the row of its caller in the tiers ${Object.keys(tiers ?? {}).join(', ')}${besides}`;
      case 'nothing':
        return always.length === 0 ? 'no limit' : `no limit of its own${besides}`;
    }
  }
}
