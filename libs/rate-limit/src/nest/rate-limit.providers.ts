// Builds the parts of the limiter from the checked options. The one place that knows the store adapters.
import { Logger, type Provider } from '@nestjs/common';
import { bucketNamer } from '../core/bucket-key';
import { systemClock } from '../core/clock';
import { InvalidLimitError, StoreConfigurationError } from '../core/errors';
import { ConcurrencyLimiter } from '../limiter/concurrency-limiter';
import { LimiterEmitter } from '../limiter/events';
import { PolicyRegistry } from '../limiter/policy-registry';
import { MemoryStore } from '../store/memory/memory-store';
import type { RateLimitStore } from '../store/rate-limit-store';
import { isRedisLike } from '../store/redis-like';
import { openRedis } from '../store/redis/redis-client';
import { RedisStore } from '../store/redis/redis-store';
import { Refusals } from '../store/redis/refusals';
import type { AnsweringStore } from '../store/resilient-port';
import { ResilientStore } from '../store/resilient/resilient-store';
import { ErrorLog } from './error-log';
import { StartUpLint } from './lint/start-up-lint';
import { checkedModuleOptions } from './module-options';
import { PlanTable } from './plan-table';
import { Planner } from './planner';
import { RateLimitErrorFilter } from './rate-limit-error.filter';
import {
  ANSWERING_STORE,
  LIMITER_EMITTER,
  POLICY_REGISTRY,
  RATE_LIMIT_OPTIONS,
  RATE_LIMIT_STORE,
  SCHEDULER,
} from './rate-limit.constants';
import { RateLimitGuard } from './rate-limit.guard';
import { MODULE_OPTIONS_TOKEN } from './rate-limit.module-definition';
import type { RateLimitModuleOptions } from './rate-limit.options';
import { RateLimiterService } from './rate-limiter.service';
import { RequestLimiter } from './request-limiter';
import { RequestSlots } from './request-slots';
import { THROTTLER_OPTIONS, ThrottlerLimits, type ThrottlerOptions } from './throttler-limits';
import { Waiters } from './waiters';

const DEFAULT_PREFIX = 'rl';
const DEFAULT_TIMEOUT_MS = 250;
/** How long the start waits for Redis. It goes on without it: the failure policy answers meanwhile. */
const START_PATIENCE_MS = 2000;

const logger = new Logger('RateLimitModule');

export const rateLimitProviders: Provider[] = [
  {
    provide: RATE_LIMIT_OPTIONS,
    useFactory: checkedModuleOptions,
    inject: [MODULE_OPTIONS_TOKEN],
  },
  {
    provide: POLICY_REGISTRY,
    useFactory: policyRegistry,
    inject: [RATE_LIMIT_OPTIONS],
  },
  {
    provide: Planner,
    useFactory: planner,
    // `ThrottlerModule` is global, where it is imported at all.
    inject: [RATE_LIMIT_OPTIONS, POLICY_REGISTRY, { token: THROTTLER_OPTIONS, optional: true }],
  },
  { provide: SCHEDULER, useValue: systemClock },
  { provide: LIMITER_EMITTER, useClass: LimiterEmitter },
  {
    provide: RATE_LIMIT_STORE,
    useFactory: rateLimitStore,
    // The planner is not used: what is wrong with the options is to be found before a connection is opened.
    inject: [RATE_LIMIT_OPTIONS, Planner],
  },
  {
    provide: ANSWERING_STORE,
    useFactory: answeringStore,
    inject: [RATE_LIMIT_STORE, RATE_LIMIT_OPTIONS, LIMITER_EMITTER, ErrorLog],
  },
  {
    provide: ConcurrencyLimiter,
    useFactory: ({ leases }: AnsweringStore, registry: PolicyRegistry, events: LimiterEmitter) =>
      new ConcurrencyLimiter(leases, registry, events),
    inject: [ANSWERING_STORE, POLICY_REGISTRY, LIMITER_EMITTER],
  },
  ErrorLog,
  PlanTable,
  RateLimitErrorFilter,
  RateLimiterService,
  RequestLimiter,
  RequestSlots,
  RateLimitGuard,
  StartUpLint,
  Waiters,
];

function planner(
  options: RateLimitModuleOptions,
  registry: PolicyRegistry,
  throttlers?: ThrottlerOptions,
): Planner {
  if (options.throttlerCompat !== true) return new Planner(options, registry);
  if (throttlers === undefined) {
    throw new InvalidLimitError(
      'RateLimitModule: throttlerCompat needs the throttlers of ThrottlerModule: import ThrottlerModule.forRoot([…]) of @nestjs/throttler, or leave throttlerCompat out',
    );
  }
  const limits = new ThrottlerLimits(throttlers);
  for (const name of limits.blocking) {
    logger.warn(
      `throttlerCompat: blockDuration of "${name}" is not used: a refused caller passes again when a token is there; to keep blocks, keep ThrottlerGuard over RedisTokenBucketStorage`,
    );
  }
  return new Planner(options, registry, limits);
}

function policyRegistry(options: RateLimitModuleOptions): PolicyRegistry {
  const { keyPrefix = DEFAULT_PREFIX, hashKeys = false } = options;
  const secret = typeof hashKeys === 'object' ? hashKeys.secret : `nest-rate-limit:${keyPrefix}`;
  const namer = bucketNamer(keyPrefix, hashKeys === false ? undefined : secret);
  return new PolicyRegistry(options as ConstructorParameters<typeof PolicyRegistry>[0], namer);
}

/** The store that the options name. Only a connection that was opened here is closed with the store. */
async function rateLimitStore(options: RateLimitModuleOptions): Promise<RateLimitStore> {
  const { store, redis, maxBuckets, storeTimeoutMs = DEFAULT_TIMEOUT_MS } = options;
  if (store !== undefined) return store;
  if (redis === undefined) {
    logger.log(
      "buckets are kept in this process' memory: each further instance lets the whole limit through once more; set redis to share them",
    );
    return new MemoryStore({ maxBuckets });
  }
  if (isRedisLike(redis)) {
    const refusals = new Refusals(redis);
    return new RedisStore(redis, {
      giveUpAfterMs: storeTimeoutMs,
      refusal: () => refusals.current,
      close: async () => refusals.stop(),
    });
  }
  const client = openRedis(redis);
  const problem = await client.connected(START_PATIENCE_MS);
  if (problem !== undefined) {
    logger.error(
      StoreConfigurationError.is(problem)
        ? `${problem.message}; until then every limited call is answered with 500`
        : `Redis is not there at the start: ${problem.message}; going on without it until it is`,
    );
  }
  return new RedisStore(client, {
    giveUpAfterMs: storeTimeoutMs,
    close: () => client.close(),
  });
}

/** A store that was handed in is its owner's to close. */
function withoutClose(store: RateLimitStore): RateLimitStore {
  if (store.close === undefined) return store;
  return {
    source: store.source,
    leases: store.leases,
    configurations: store.configurations,
    take: (charges) => store.take(charges),
    peek: (charges) => store.peek(charges),
    giveBack: store.giveBack && ((grants) => store.giveBack?.(grants)),
    adjust: store.adjust && ((adjustments) => store.adjust?.(adjustments)),
    reset: (buckets) => store.reset(buckets),
    refusal: store.refusal && (() => store.refusal?.()),
    evictionPolicy: store.evictionPolicy && (() => store.evictionPolicy?.()),
  };
}

function answeringStore(
  store: RateLimitStore,
  { storeTimeoutMs = DEFAULT_TIMEOUT_MS, maxBuckets, store: handedIn }: RateLimitModuleOptions,
  events: LimiterEmitter,
  errors: ErrorLog,
): ResilientStore {
  return new ResilientStore(handedIn === undefined ? store : withoutClose(store), {
    timeoutMs: storeTimeoutMs,
    maxBuckets,
    onRefused: (error) => errors.report(error),
    onChange: (cause) => {
      if (cause === undefined) {
        logger.log('the rate limit store is back');
        events.emit('storeBack');
      } else {
        logger.error(`the rate limit store is out: ${cause.message}`);
        events.emit('storeOut', cause);
      }
    },
  });
}
