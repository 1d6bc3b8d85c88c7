// A limiter over a store, built as the module builds it but without Nest.
import { bucketNamer } from '../../src/core/bucket-key';
import type { Scheduler } from '../../src/core/clock';
import { LimiterEmitter } from '../../src/limiter/events';
import { PolicyRegistry, type PolicyRegistryOptions } from '../../src/limiter/policy-registry';
import { RateLimiter } from '../../src/limiter/rate-limiter';
import type { RateLimitStore } from '../../src/store/rate-limit-store';
import { ResilientStore } from '../../src/store/resilient/resilient-store';

export interface LimiterSetup extends PolicyRegistryOptions {
  readonly keyPrefix?: string;
  readonly timeoutMs?: number;
  readonly maxBuckets?: number;
  /** For what waits. */
  readonly clock?: Scheduler;
}

export function limiterOver(
  store: RateLimitStore,
  { keyPrefix = 'rl', timeoutMs = 250, maxBuckets, clock, ...options }: LimiterSetup = {},
): RateLimiter {
  const events = new LimiterEmitter();
  const onChange = (cause?: Error) =>
    cause === undefined ? events.emit('storeBack') : events.emit('storeOut', cause);
  return new RateLimiter(
    new ResilientStore(store, { timeoutMs, maxBuckets, onChange }),
    new PolicyRegistry(options, bucketNamer(keyPrefix)),
    events,
    clock,
  );
}
