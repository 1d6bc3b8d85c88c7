// A process of its own that keeps calls in flight under a concurrency limit, and tells its parent of each start and
// end, by the clock of the machine. Started with `fork` and queue-ts-hook.cjs; its argument is a ConcurrencyLoad.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { bucketNamer } from '../../src/core/bucket-key';
import { systemClock } from '../../src/core/clock';
import { RateLimitExceededError } from '../../src/core/errors';
import { ConcurrencyLimiter } from '../../src/limiter/concurrency-limiter';
import { LimiterEmitter } from '../../src/limiter/events';
import { PolicyRegistry } from '../../src/limiter/policy-registry';
import { RedisStore } from '../../src/store/redis/redis-store';
import { ResilientStore } from '../../src/store/resilient/resilient-store';

/** What a process does. */
export interface ConcurrencyLoad {
  readonly redis: string;
  readonly keyPrefix: string;
  readonly max: number;
  readonly leaseMs: number;
  /** How many calls it tries to have in flight. */
  readonly callers: number;
  /** The shortest and the longest call. */
  readonly callMs: readonly [number, number];
}

/** One call, as its process saw it. */
export interface ConcurrencyEvent {
  readonly kind: 'start' | 'end' | 'told';
  readonly call: number;
  readonly atMs: number;
}

/** After a refusal. */
const PAUSE_MS = 5;

const load = JSON.parse(process.argv[2]) as ConcurrencyLoad;
const store = new ResilientStore(new RedisStore(new Redis(load.redis)), { timeoutMs: 1000 });
const registry = new PolicyRegistry({}, bucketNamer(load.keyPrefix));
const limiter = new ConcurrencyLimiter(store.leases, registry, new LimiterEmitter());
let calls = 0;

function tell(kind: ConcurrencyEvent['kind'], call: number): void {
  process.send?.({ kind, call, atMs: systemClock.nowMs() } satisfies ConcurrencyEvent);
}

async function caller(): Promise<void> {
  const { max, leaseMs } = load;
  const [least, most] = load.callMs;
  for (;;) {
    try {
      await limiter.run('shared', { max, leaseMs }, async (signal) => {
        const call = calls++;
        tell('start', call);
        signal.addEventListener('abort', () => tell('told', call));
        await delay(least + ((call * 37) % (most - least + 1)));
        tell('end', call);
      });
    } catch (error) {
      if (!RateLimitExceededError.is(error)) throw error;
      await delay(PAUSE_MS);
    }
  }
}

process.on('disconnect', () => process.exit());
for (let i = 0; i < load.callers; i++) void caller();
