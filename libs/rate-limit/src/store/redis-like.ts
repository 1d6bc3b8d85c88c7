// What may be handed in as "the Redis": a client, or how to reach one. No type of ioredis stands here, so
// that nobody needs the optional peer for our declarations.

/** A Redis client as far as this library uses it: `Redis` or `Cluster` of ioredis 5 or 6. */
export interface RedisLike {
  evalsha(sha: string, numberOfKeys: number, ...args: (string | number)[]): Promise<unknown>;
  eval(script: string, numberOfKeys: number, ...args: (string | number)[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
  /** Asked once, at the start. A client without it is not asked. */
  info?(section: string): Promise<unknown>;
  /** True for a client of a Redis Cluster, as `Cluster` of ioredis says: a call can only reach keys of one slot there. */
  readonly isCluster?: boolean;
}

/**
 * Options of an ioredis client: `RedisOptions` fits, and so do options that are not named here. How
 * commands wait and are repeated is ours to say: see `openRedis`.
 */
export interface RedisConnectionOptions {
  host?: string;
  port?: number;
  /** A Unix socket. */
  path?: string;
  username?: string | null;
  password?: string | null;
  db?: number;
  tls?: object;
  family?: number;
  sentinels?: object[] | null;
  name?: string | null;
  connectTimeout?: number;
  // ioredis has some fifty more.
  // oxlint-disable-next-line typescript/no-explicit-any
  [option: string]: any;
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
