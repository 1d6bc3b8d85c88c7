// The little that is asked of a Redis client, so that ioredis 5 and 6, Redis and Cluster all fit.

/** A Redis client as far as this library uses it: `Redis` or `Cluster` of ioredis 5 or 6. */
export interface RedisLike {
  evalsha(sha: string, numberOfKeys: number, ...args: (string | number)[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...args: (string | number)[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
}

/** True for something that can be used as a client. */
export function isRedisLike(value: unknown): value is RedisLike {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['evalsha', 'eval', 'del'].every(
      (command) => typeof (value as Record<string, unknown>)[command] === 'function',
    )
  );
}
