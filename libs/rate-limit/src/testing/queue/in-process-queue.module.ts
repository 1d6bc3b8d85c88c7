// One registration of an in-process queue.
import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { InvalidLimitError } from '../../core/errors';
import { shown } from '../../core/limit';
import type { PolicyRegistry } from '../../limiter/policy-registry';
import { DEFERRALS } from '../../nest/deferral';
import { POLICY_REGISTRY, RATE_LIMIT_STORE } from '../../nest/rate-limit.constants';
import { QueueDeferrals } from '../../queue/deferrals.service';
import { OpenQueues } from '../../queue/open-queues.service';
import { Processors } from '../../queue/processors.service';
import {
  getRateLimitedQueueToken,
  OPEN_QUEUE,
  QUEUE_OPTIONS,
} from '../../queue/rate-limit-queue.constants';
import { queueBounds, queueName, type RateLimitQueueOptions } from '../../queue/queue-options';
import { RegisteredQueue } from '../../queue/registered-queue.service';
import { MemoryStore } from '../../store/memory/memory-store';
import type { RateLimitStore } from '../../store/rate-limit-store';
import { FakeClock } from '../fake-clock';
import type { InProcessQueueOptions } from './in-process-options';
import { openInProcessQueue } from './open-in-process-queue';

/** Registers a queue that runs in this process. */
@Module({})
export class InProcessQueueModule extends RegisteredQueue {}

/** What {@link openQueueOn} is handed: the options of a registration, and what its module sees of the limiter. */
export const QUEUE_AROUND = [
  QUEUE_OPTIONS,
  { token: POLICY_REGISTRY, optional: true },
  { token: RATE_LIMIT_STORE, optional: true },
];

/** Opens the queue of a registration on a clock. @throws InvalidLimitError, UnsupportedOperationError */
export function openQueueOn(clock: FakeClock) {
  return (
    options: InProcessQueueOptions<never>,
    registry?: PolicyRegistry,
    store?: RateLimitStore,
  ) => openInProcessQueue(options, surroundings(options, clock, registry, store));
}

/** @throws InvalidLimitError, UnsupportedOperationError here or at start-up, naming queue and option */
export function inProcessQueueModule(options: InProcessQueueOptions<never>): DynamicModule {
  const name = queueName(options);
  queueBounds(options as RateLimitQueueOptions<never>, `queue ${name}`);
  const token = getRateLimitedQueueToken(name);
  const providers: Provider[] = [
    OpenQueues,
    Processors,
    { provide: DEFERRALS, useClass: QueueDeferrals },
    { provide: QUEUE_OPTIONS, useValue: options },
    {
      provide: OPEN_QUEUE,
      useFactory: (clock: FakeClock, ...around: Parameters<ReturnType<typeof openQueueOn>>) =>
        openQueueOn(clock)(...around),
      inject: [FakeClock, ...QUEUE_AROUND],
    },
    {
      provide: token,
      useFactory: ({ queue }: ReturnType<typeof openInProcessQueue>) => queue,
      inject: [OPEN_QUEUE],
    },
  ];
  return {
    module: InProcessQueueModule,
    // Whoever injects the queue in the application would import its registration there.
    global: true,
    imports: [DiscoveryModule],
    providers,
    exports: [token],
  };
}

function surroundings(
  { name, policy }: InProcessQueueOptions<never>,
  clock: FakeClock,
  registry: PolicyRegistry | undefined,
  store: RateLimitStore | undefined,
) {
  const memory = store instanceof MemoryStore ? store : undefined;
  if (policy === undefined) return { clock, store: memory ?? new MemoryStore({ clock }) };
  if (registry === undefined || memory === undefined) {
    throw new InvalidLimitError(
      `queue ${name}: policy ${shown(policy)} needs RateLimitTestingModule with buckets in memory: leave its store out`,
    );
  }
  const { policy: shared, place } = registry.named(policy);
  return {
    clock,
    store: memory,
    policy: { limit: shared.limit, bucket: (key: string) => place.bucket(key) },
  };
}
