// Serves what becomes of jobs: the page that a 202 points to.
import { type DynamicModule, Module } from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { modulePathOf } from '../nest/handler-place';
import { LongPolls } from './long-polls.service';
import { OpenQueues } from './open-queues.service';
import { statusController } from './rate-limit-status.controller';
import { joined, StatusUrls } from './status-urls.service';

/** Options of {@link RateLimitStatusModule}. */
export interface RateLimitStatusOptions {
  /** Behind the global prefix, for every version. @default 'rate-limit/jobs' */
  path?: string;
}

/**
 * Serves the jobs of all queues of the application, by their unguessable ids: whoever knows an id may
 * ask for it. `GET <path>/<id>`: waiting, active, completed (with the result), failed, expired or
 * cancelled; 404 for an id that is not known or was forgotten (`resultTtlMs`). `Prefer: wait=5` holds
 * the answer until the job has ended, at most 30 s. `DELETE` takes a job that waits out of its line;
 * 409 for one that runs or has ended.
 */
@Module({})
export class RateLimitStatusModule {
  /** @throws InvalidLimitError for a path that is not plain text */
  static forRoot({ path = 'rate-limit/jobs' }: RateLimitStatusOptions = {}): DynamicModule {
    if (typeof path !== 'string' || !/^\/?[\w.~-]+(\/[\w.~-]+)*\/?$/.test(path)) {
      throw new InvalidLimitError(
        `RateLimitStatusModule: path ${shown(path)} is no path: give one like "rate-limit/jobs", without parameters`,
      );
    }
    return {
      module: RateLimitStatusModule,
      imports: [DiscoveryModule],
      controllers: [statusController(path)],
      providers: [
        LongPolls,
        OpenQueues,
        {
          provide: StatusUrls,
          useFactory: (config: ApplicationConfig, modules: ModulesContainer) =>
            new StatusUrls(config, () =>
              joined(modulePathOf(RateLimitStatusModule, modules.applicationId) ?? '', path),
            ),
          inject: [ApplicationConfig, ModulesContainer],
        },
      ],
    };
  }
}
