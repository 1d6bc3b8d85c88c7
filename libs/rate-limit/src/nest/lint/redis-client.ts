// Settings of a client that was handed in, which is used as it is.
import { isRedisLike, type RedisLike } from '../../store/redis-like';
import type { LintRule } from './lint-rule';

/** What ioredis keeps of its options; of a cluster some are one level down. */
interface ClientOptions {
  readonly enableOfflineQueue?: unknown;
  readonly autoResendUnfulfilledCommands?: unknown;
  /** Of a cluster. */
  readonly retryDelayOnFailover?: unknown;
  readonly keyPrefix?: unknown;
  readonly redisOptions?: ClientOptions;
}

export const redisClient: LintRule = ({ options: { redis } }) => {
  if (redis === undefined || typeof redis === 'string') return [];
  if (!isRedisLike(redis)) return prefix(redis as ClientOptions);
  const options = (redis as RedisLike & { options?: ClientOptions }).options;
  if (options === undefined) return [];
  return [
    ...queues(options),
    ...resends(options),
    ...prefix({ ...options.redisOptions, ...options }),
  ];
};

function queues({ enableOfflineQueue, autoResendUnfulfilledCommands }: ClientOptions): string[] {
  const queueing = [
    ...(enableOfflineQueue === true ? ['enableOfflineQueue'] : []),
    ...(autoResendUnfulfilledCommands === true ? ['autoResendUnfulfilledCommands'] : []),
  ];
  if (queueing.length === 0) return [];
  return [
    `RateLimitModule: the client in redis has ${queueing.join(' and ')} on: while Redis is away it keeps charges that were answered otherwise, and makes them later. Create it with ${queueing.map((name) => `${name}: false`).join(', ')} and maxRetriesPerRequest: 0, or hand in its URL or options and let the limiter have a client of its own`,
  ];
}

/** A cluster client takes a lost connection for a failover, whatever was on its way there. */
function resends({ retryDelayOnFailover: delayMs }: ClientOptions): string[] {
  if (typeof delayMs !== 'number' || delayMs <= 0) return [];
  return [
    `RateLimitModule: the Cluster client in redis has retryDelayOnFailover ${delayMs}: what it sent on a connection that was lost it sends again, and a charge may be made twice. Create it with retryDelayOnFailover: 0`,
  ];
}

/** Of the client, before the names that we give. Ours is refused with braces. */
function prefix({ keyPrefix }: ClientOptions): string[] {
  if (typeof keyPrefix !== 'string' || !/[{}]/.test(keyPrefix)) return [];
  return [
    `RateLimitModule: keyPrefix ${JSON.stringify(keyPrefix)} of the Redis client has braces: in a cluster they put every bucket into one slot. Leave them out`,
  ];
}
