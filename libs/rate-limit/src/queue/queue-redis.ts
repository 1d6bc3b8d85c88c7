// What a queue asks of its own Redis connection, beside scripts. ioredis 5 and 6, Redis and Cluster fit.
import type { RedisLike } from '../store/redis-like';

/** A connection for commands. */
export interface QueueRedis extends RedisLike {
  info(section: string): Promise<string>;
  get(key: string): Promise<string | null>;
  exists(...keys: string[]): Promise<number>;
  zrange(key: string, start: number, stop: number): Promise<string[]>;
  zrangebyscore(
    key: string,
    min: number | string,
    max: number | string,
    ...limit: [] | ['LIMIT', offset: number, count: number]
  ): Promise<string[]>;
  zadd(key: string, xx: 'XX', ...scoresAndMembers: (number | string)[]): Promise<unknown>;
  zrem(key: string, ...members: string[]): Promise<number>;
  publish(channel: string, message: string): Promise<number>;
  zscore(key: string, member: string): Promise<string | null>;
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
  time(): Promise<[number, number] | [string, string] | unknown[]>;
}

/** A connection that listens to channels. */
export interface QueueSubscriber {
  subscribe(...channels: string[]): Promise<unknown>;
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
}
