// The module that registers queues on BullMQ.
import { type DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { queueBounds, queueName, type RateLimitQueueOptions } from './queue-options';
import { getRateLimitedQueueToken, QUEUE_OPTIONS } from './rate-limit-queue.constants';
import { queueProviders } from './rate-limit-queue.providers';
import { RegisteredQueue } from './registered-queue.service';

/** `registerAsync`: the name is needed at once, since it names the provider. */
export interface RateLimitQueueAsyncOptions<Data = unknown> extends Pick<
  ModuleMetadata,
  'imports'
> {
  name: string;
  // Nest's own type for what a factory may be handed.
  // oxlint-disable-next-line typescript/no-explicit-any
  inject?: any[];
  useFactory: (
    // oxlint-disable-next-line typescript/no-explicit-any
    ...args: any[]
  ) =>
    Omit<RateLimitQueueOptions<Data>, 'name'> | Promise<Omit<RateLimitQueueOptions<Data>, 'name'>>;
}

/** Registers queued limiters. One registration a queue; import it where the queue is injected. */
@Module({})
export class RateLimitQueueModule extends RegisteredQueue {
  /** @throws InvalidLimitError, UnsupportedOperationError here or at start-up, naming queue and option */
  static register<Data = unknown>(options: RateLimitQueueOptions<Data>): DynamicModule {
    const name = queueName(options);
    queueBounds(options as RateLimitQueueOptions<never>, `queue ${name}`);
    return queueModule(name, { provide: QUEUE_OPTIONS, useValue: options });
  }

  /** Options from a factory, held to the same rules. */
  static registerAsync<Data = unknown>(options: RateLimitQueueAsyncOptions<Data>): DynamicModule {
    const name = queueName(options);
    const { imports, inject = [], useFactory } = options;
    const factory = async (...args: unknown[]) => ({ name, ...(await useFactory(...args)) });
    return queueModule(name, { provide: QUEUE_OPTIONS, useFactory: factory, inject }, imports);
  }
}

function queueModule(
  name: string,
  options: NonNullable<ModuleMetadata['providers']>[number],
  imports: ModuleMetadata['imports'] = [],
): DynamicModule {
  return {
    module: RateLimitQueueModule,
    imports: [DiscoveryModule, ...imports],
    providers: [options, ...queueProviders(name)],
    exports: [getRateLimitedQueueToken(name)],
  };
}
