// Opens a queue from its options and what the RateLimitModule knows.
import { Logger, type Provider } from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import type { PolicyRegistry } from '../limiter/policy-registry';
import { DEFERRALS } from '../nest/deferral';
import { POLICY_REGISTRY, RATE_LIMIT_OPTIONS } from '../nest/rate-limit.constants';
import type { RateLimitModuleOptions } from '../nest/rate-limit.options';
import { QueueDeferrals } from './deferrals.service';
import { openQueue, type OpenQueue, type QueueSurroundings } from './open-queue';
import { OpenQueues } from './open-queues.service';
import { OutageLog } from './outage-log';
import { Processors } from './processors.service';
import { getRateLimitedQueueToken, OPEN_QUEUE, QUEUE_OPTIONS } from './rate-limit-queue.constants';
import type { RateLimitQueueOptions } from './queue-options';

const DEFAULT_PREFIX = 'rl';
const DEFAULT_TIMEOUT_MS = 250;
/** A job's text travels with its submission; it may take longer than a decision. */
const LEAST_SUBMIT_TIMEOUT_MS = 1000;

/** The providers of one registration. */
export function queueProviders(name: string): Provider[] {
  return [
    OpenQueues,
    Processors,
    { provide: DEFERRALS, useClass: QueueDeferrals },
    {
      provide: OPEN_QUEUE,
      useFactory: (
        options: RateLimitQueueOptions<never>,
        module?: RateLimitModuleOptions,
        registry?: PolicyRegistry,
      ) => openQueue(checkedName(options, name), surroundings(options, module, registry)),
      inject: [
        QUEUE_OPTIONS,
        { token: RATE_LIMIT_OPTIONS, optional: true },
        { token: POLICY_REGISTRY, optional: true },
      ],
    },
    {
      provide: getRateLimitedQueueToken(name),
      useFactory: ({ queue }: OpenQueue) => queue,
      inject: [OPEN_QUEUE],
    },
  ];
}

/** @throws InvalidLimitError unless the options are of the queue that was registered */
function checkedName<T extends { name: string }>(options: T, name: string): T {
  if (options.name !== name) {
    throw new InvalidLimitError(
      `queue ${name}: its factory gives the name ${shown(options.name)}: give the same`,
    );
  }
  return options;
}

function surroundings(
  { name, connection, policy }: RateLimitQueueOptions<never>,
  module: RateLimitModuleOptions = {},
  registry: PolicyRegistry | undefined,
): QueueSurroundings {
  const source = connection ?? module.redis;
  if (source === undefined) {
    throw new InvalidLimitError(
      `queue ${name}: no Redis is known: set redis of RateLimitModule, or connection of the queue`,
    );
  }
  const log = new OutageLog(new Logger(`RateLimitQueue ${name}`));
  return {
    keyPrefix: module.keyPrefix ?? DEFAULT_PREFIX,
    tokenOf: registry && ((key) => registry.tokenOf(key)),
    connection: source,
    policy: policy === undefined ? undefined : sharedPolicy(name, policy, registry),
    timeoutMs: Math.max(module.storeTimeoutMs ?? DEFAULT_TIMEOUT_MS, LEAST_SUBMIT_TIMEOUT_MS),
    onError: (error) => log.error(error),
    onAnswer: () => log.answered(),
  };
}

/** @throws InvalidLimitError, UnknownPolicyError */
function sharedPolicy(queue: string, policy: string, registry: PolicyRegistry | undefined) {
  if (registry === undefined) {
    throw new InvalidLimitError(
      `queue ${queue}: policy ${shown(policy)} needs RateLimitModule, where policies are registered`,
    );
  }
  const { policy: shared, place } = registry.named(policy);
  return { limit: shared.limit, bucket: (key: string) => place.bucket(key) };
}
