// One registration of a queue: finds its processor, starts its work, and closes it in order. Knows not what runs the jobs.
import {
  type BeforeApplicationShutdown,
  Inject,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import type { OpenQueue } from './open-queue';
import { OpenQueues } from './open-queues.service';
import type { JobProcessor } from './paced-worker';
import { Processors } from './processors.service';
import type { RateLimitQueueOptions } from './queue-options';
import { OPEN_QUEUE, QUEUE_OPTIONS } from './rate-limit-queue.constants';

/** The life of a queue in an application. */
export abstract class RegisteredQueue
  implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  #processor: JobProcessor<never> | undefined;

  constructor(
    @Inject(OPEN_QUEUE) private readonly opened: OpenQueue,
    @Inject(Processors) private readonly processors: Processors,
    @Inject(OpenQueues) private readonly queues: OpenQueues,
    @Inject(QUEUE_OPTIONS) private readonly options: RateLimitQueueOptions<never>,
  ) {}

  /** @throws InvalidLimitError when the queue has not the processor it needs */
  async onModuleInit(): Promise<void> {
    try {
      this.processors.check();
      this.#processor = this.#neededProcessor();
    } catch (error) {
      await this.queues.close();
      throw error;
    }
  }

  /** @throws StoreConfigurationError for a server that a queue cannot work on */
  async onApplicationBootstrap(): Promise<void> {
    if (this.#processor === undefined) return;
    try {
      await this.opened.work(this.#processor);
    } catch (error) {
      await this.queues.close();
      throw error;
    }
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
