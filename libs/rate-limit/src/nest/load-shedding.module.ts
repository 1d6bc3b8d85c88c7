// The module of load shedding: its guard stands in front of every request, before all others.
import {
  type CallHandler,
  ConfigurableModuleBuilder,
  type DynamicModule,
  type ExecutionContext,
  Inject,
  Module,
} from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import { InvalidLimitError } from '../core/errors';
import { LoadShedder } from './load-shedder';
import { checkedSheddingOptions, type LoadSheddingOptions } from './load-shedding.options';
import { LOAD_SHEDDING_OPTIONS } from './rate-limit.constants';
import { runningHandler } from './running-handler';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<LoadSheddingOptions>({
    optionsInjectionToken: Symbol.for('nest-rate-limit:load-shedding-module-options'),
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createLoadSheddingOptions')
    .build();

/**
 * Sheds requests under load: 503 with `Retry-After`, before anything is charged, the least critical first
 * (`@Criticality`). Needs `RateLimitModule`, whose store, clock and events it uses. Import it once.
 */
@Module({
  providers: [
    {
      provide: LOAD_SHEDDING_OPTIONS,
      useFactory: checkedSheddingOptions,
      inject: [MODULE_OPTIONS_TOKEN],
    },
    LoadShedder,
  ],
})
export class LoadSheddingModule extends ConfigurableModuleClass {
  constructor(
    @Inject(ApplicationConfig) config: ApplicationConfig,
    @Inject(LoadShedder) shedder: LoadShedder,
  ) {
    super();
    // Now is before Nest adds the guards and interceptors of the application.
    config.addGlobalGuard(shedder);
    config.addGlobalInterceptor({
      intercept: (context: ExecutionContext, next: CallHandler) =>
        context.getType() === 'http' ? runningHandler(context, next) : next.handle(),
    });
  }

  /** @throws InvalidLimitError, UnsupportedOperationError here or at start-up, naming option and value */
  static override forRoot(options: typeof OPTIONS_TYPE = {}): DynamicModule {
    if (typeof options !== 'object' || options === null) {
      throw new InvalidLimitError(
        `LoadSheddingModule: forRoot takes a set of options, not a ${typeof options}`,
      );
    }
    return super.forRoot(options);
  }

  /** Options from a factory, held to the same rules. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    return super.forRootAsync(options);
  }
}
