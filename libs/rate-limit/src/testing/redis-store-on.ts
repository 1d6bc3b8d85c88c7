// Buckets in a real Redis on the clock of a test.
import type { Clock } from '../core/clock';
import type { RedisLike } from '../store/redis-like';
import { redisStoreAt, type RedisStore } from '../store/redis/redis-store';

/**
 * A `RedisStore` whose scripts go by `clock` and not by the server's time, so that a test against a real Redis is
 * exact and waits for nothing.
 *
 * Only for tests: every process that uses these buckets must go by the same clock. Redis forgets them an hour of its
 * own time after they would be full; give each run a `keyPrefix` of its own.
 *
 * @param client a client of ioredis; the caller ends it
 */
export function redisStoreOn(clock: Pick<Clock, 'nowMs'>, client: RedisLike): RedisStore {
  return redisStoreAt(() => clock.nowMs(), client);
}
