// All queues of the application, and what else it provides for them.
import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { OpenQueue } from './open-queue';
import { OPEN_QUEUE } from './rate-limit-queue.constants';

/** Finds what the application registered. */
@Injectable()
export class OpenQueues {
  constructor(@Inject(DiscoveryService) private readonly discovery: DiscoveryService) {}

  get all(): OpenQueue[] {
    return this.provided(OPEN_QUEUE) as OpenQueue[];
  }

  get names(): string[] {
    return this.all.map(({ queue }) => queue.name);
  }

  named(name: string): OpenQueue | undefined {
    return this.all.find(({ queue }) => queue.name === name);
  }

  /** Closes every queue: Nest runs no shutdown hooks for a start that failed. */
  async close(): Promise<void> {
    await Promise.all(this.all.map(({ queue }) => queue.close()));
  }

  /** What the modules of the application provide under a token. */
  provided(token: unknown): unknown[] {
    return this.discovery
      .getProviders()
      .filter((provider) => provider.token === token)
      .map(({ instance }) => instance as unknown);
  }
}
