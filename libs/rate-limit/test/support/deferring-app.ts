// Applications whose routes defer to the queue `reports`, for tests over real HTTP. Each has a queue of its own.
import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitGuard, RateLimitModule, type RateLimitModuleOptions } from 'nest-rate-limit';
import {
  getRateLimitedQueueToken,
  type RateLimitedQueue,
  RateLimitedProcessor,
  RateLimitQueueModule,
  type RateLimitQueueOptions,
  RateLimitStatusModule,
} from 'nest-rate-limit/queue';
import { type App, type AppOptions, startApp } from './nest-app';
import { sharedRedisUrl, uniquePrefix } from './redis-server';

/** What the processor was given, and when. */
export interface Run {
  readonly data: unknown;
  readonly atMs: number;
}

export interface DeferringApp extends App {
  readonly runs: Run[];
  readonly queue: RateLimitedQueue;
  /** For another instance of the same application. */
  readonly shared: Pick<Deferring, 'keyPrefix'>;
  /** The data of a job. */
  data(id: string): Promise<unknown>;
  /** Jobs that wait. */
  waiting(): Promise<number>;
}

export interface Deferring {
  readonly controllers: Type[];
  readonly adapter: AppOptions['adapter'];
  readonly prepare?: (nest: INestApplication) => void;
  readonly module?: RateLimitModuleOptions;
  readonly queue?: Partial<RateLimitQueueOptions>;
  /** @default one that nobody else has */
  readonly keyPrefix?: string;
  readonly status?: DynamicModule[];
  readonly providers?: NonNullable<DynamicModule['providers']>;
  /** Does a job. @default answers what it was given */
  readonly process?: (data: unknown) => unknown;
}

/** A listening application; the guard is bound to all of it. */
export async function startDeferring({
  controllers,
  adapter,
  prepare,
  module,
  queue,
  status = [RateLimitStatusModule.forRoot()],
  providers = [],
  keyPrefix = uniquePrefix(),
  process = (data) => ({ done: data }),
}: Deferring): Promise<DeferringApp> {
  const runs: Run[] = [];
  @RateLimitedProcessor('reports')
  class Reports {
    process({ data }: { data: unknown }): unknown {
      runs.push({ data, atMs: performance.now() });
      return process(data);
    }
  }
  const app = await startApp(
    {
      imports: [
        RateLimitModule.forRoot({
          redis: sharedRedisUrl(),
          keyPrefix,
          key: () => 'all',
          ...module,
        }),
        RateLimitQueueModule.register({
          name: 'reports',
          ...queue,
          worker: { prefix: keyPrefix.slice(0, -1), ...queue?.worker },
        }),
        ...status,
      ],
      controllers,
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }, Reports, ...providers],
    },
    { adapter, prepare },
  );
  const opened = app.nest.get<RateLimitedQueue>(getRateLimitedQueueToken('reports'));
  return {
    ...app,
    runs,
    queue: opened,
    shared: { keyPrefix },
    data: async (id) => (await opened.bullQueue.getJob(id))?.data,
    waiting: async () => (await opened.counts()).waiting,
  };
}

/** A body about a job, as tests read it. */
export interface JobAnswerBody {
  readonly id: string;
  readonly state: string;
  readonly startsAt?: number;
  readonly position?: number;
  readonly result?: unknown;
  readonly statusUrl: string;
}
