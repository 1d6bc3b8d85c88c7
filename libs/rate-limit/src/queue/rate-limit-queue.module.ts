// One registration of a queue: opens it, starts its worker, and closes it in order.
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Module,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import type { OpenQueue } from './open-queue';
import type { JobProcessor } from './paced-worker';
import { Processors } from './processors.service';
import { queueBounds, type RateLimitQueueOptions } from './queue-options';
import { getRateLimitedQueueToken, OPEN_QUEUE, QUEUE_OPTIONS } from './rate-limit-queue.constants';
import { queueProviders } from './rate-limit-queue.providers';

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
export class RateLimitQueueModule
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  #processor: JobProcessor<never> | undefined;

  constructor(
    @Inject(OPEN_QUEUE) private readonly opened: OpenQueue,
    @Inject(Processors) private readonly processors: Processors,
    @Inject(QUEUE_OPTIONS) private readonly options: RateLimitQueueOptions<never>,
  ) {}

  /** @throws InvalidLimitError, UnsupportedOperationError here or at start-up, naming queue and option */
  static register<Data = unknown>(options: RateLimitQueueOptions<Data>): DynamicModule {
    const name = nameOf(options);
    queueBounds(options as RateLimitQueueOptions<never>, `queue ${name}`);
    return queueModule(name, { provide: QUEUE_OPTIONS, useValue: options });
  }

  /** Options from a factory, held to the same rules. */
  static registerAsync<Data = unknown>(options: RateLimitQueueAsyncOptions<Data>): DynamicModule {
    const name = nameOf(options);
    const { imports, inject = [], useFactory } = options;
    const factory = async (...args: unknown[]) => ({ name, ...(await useFactory(...args)) });
    return queueModule(name, { provide: QUEUE_OPTIONS, useFactory: factory, inject }, imports);
  }

  /** @throws InvalidLimitError when the queue has not the processor it needs */
  async onModuleInit(): Promise<void> {
    try {
      this.processors.check();
      this.#processor = this.#neededProcessor();
    } catch (error) {
      await this.processors.closeQueues();
      throw error;
    }
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.#processor !== undefined) await this.opened.work(this.#processor);
  }

  /** Running jobs end while everything they need, this queue's intake included, is still there. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.opened.stopWorking();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.opened.queue.close();
  }

  #neededProcessor(): JobProcessor<never> | undefined {
    const { name } = this.opened.queue;
    const processor = this.processors.of(name);
    const { submitOnly = false } = this.options;
    if (submitOnly && processor !== undefined) {
      throw new InvalidLimitError(`queue ${name}: it is submitOnly, and has a processor here`);
    }
    if (!submitOnly && processor === undefined) {
      throw new InvalidLimitError(
        `queue ${name} has no processor: add a provider with @RateLimitedProcessor(${shown(name)}), or set submitOnly where another process works it off`,
      );
    }
    return processor;
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

/** @throws InvalidLimitError unless BullMQ can take the name */
function nameOf({ name }: { name: string }): string {
  if (typeof name !== 'string' || name === '' || name.includes(':')) {
    throw new InvalidLimitError(
      `RateLimitQueueModule: name ${shown(name)} is no name of a queue: give a text without colons`,
    );
  }
  return name;
}
