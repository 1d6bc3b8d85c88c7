// Finds the processors of the application and checks that each queue has the one it needs.
import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { OpenQueues } from './open-queues.service';
import type { JobProcessor } from './paced-worker';
import { PROCESSOR_METADATA } from './rate-limit-queue.constants';

interface Found {
  readonly queue: string;
  readonly place: string;
  readonly instance: unknown;
}

/** The processors of the application. */
@Injectable()
export class Processors {
  constructor(
    @Inject(DiscoveryService) private readonly discovery: DiscoveryService,
    @Inject(OpenQueues) private readonly queues: OpenQueues,
  ) {}

  /**
   * The processor of a queue; `undefined` when there is none.
   * @throws InvalidLimitError for two processors, one without `process`, one that is made per request
   */
  of(queue: string): JobProcessor<never> | undefined {
    const found = this.#all().filter((processor) => processor.queue === queue);
    if (found.length > 1) {
      throw new InvalidLimitError(
        `queue ${queue} has ${found.length} processors: ${found.map(({ place }) => place).join(', ')}; keep one`,
      );
    }
    if (found.length === 0) return undefined;
    const [{ place, instance }] = found;
    if (typeof (instance as JobProcessor | undefined)?.process !== 'function') {
      throw new InvalidLimitError(
        `${place}: the processor of queue ${queue} has no method process(job), or is made per request`,
      );
    }
    return instance as JobProcessor<never>;
  }

  /** @throws InvalidLimitError for a queue that is registered twice, or a processor of none */
  check(): void {
    const { names } = this.queues;
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined) {
      throw new InvalidLimitError(`queue ${twice} is registered twice: import one registration`);
    }
    for (const { queue, place } of this.#all()) {
      if (names.includes(queue)) continue;
      throw new InvalidLimitError(
        `${place}: queue ${shown(queue)} is not registered; known queues: ${names.join(', ') || 'none'}`,
      );
    }
  }

  #all(): Found[] {
    const found = new Map<unknown, Found>();
    for (const { metatype, instance } of this.discovery.getProviders()) {
      if (typeof metatype !== 'function') continue;
      const queue = Reflect.getOwnMetadata(PROCESSOR_METADATA, metatype) as string | undefined;
      if (queue !== undefined) found.set(metatype, { queue, place: metatype.name, instance });
    }
    return [...found.values()];
  }
}
