// forRoot and forRootAsync, as Nest builds them.
import { ConfigurableModuleBuilder } from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import type { RateLimitModuleOptions } from './rate-limit.options';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, ASYNC_OPTIONS_TYPE, OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<RateLimitModuleOptions>({
    optionsInjectionToken: Symbol.for('nest-rate-limit:module-options'),
  })
    .setClassMethodName('forRoot')
    .setFactoryMethodName('createRateLimitOptions')
    .setExtras<{ isGlobal?: boolean }>({ isGlobal: true }, (definition, { isGlobal = true }) => {
      if (typeof isGlobal !== 'boolean') {
        throw new InvalidLimitError(
          `RateLimitModule: isGlobal ${shown(isGlobal)} is not true or false`,
        );
      }
      return { ...definition, global: isGlobal };
    })
    .build();

/** What a class of `useClass` or `useExisting` offers. */
export interface RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitModuleOptions | Promise<RateLimitModuleOptions>;
}
