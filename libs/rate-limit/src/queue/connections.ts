// The Redis connections of a queue, all opened here and closed here. A client that was handed in is only copied.
import type { ConnectionOptions } from 'bullmq';
import { StoreConfigurationError } from '../core/errors';
import { checkRedisAddress } from '../store/redis-address';
import type { RedisConnectionOptions, RedisLike } from '../store/redis-like';
import { isNobodyThere, NEVER_WAITS, newIoRedis } from '../store/redis/redis-client';
import type { QueueRedis, QueueSubscriber } from './queue-redis';

/** A client that can be copied: `Redis` or `Cluster` of ioredis. */
interface Duplicable {
  readonly isCluster?: boolean;
  duplicate(...args: unknown[]): unknown;
}

/** Where a queue finds Redis. */
export type ConnectionSource = string | RedisConnectionOptions | RedisLike | ConnectionOptions;

interface Connection {
  readonly status: string;
  on(event: 'error', listener: (error?: unknown) => void): unknown;
  on(event: 'ready', listener: () => void): unknown;
  disconnect(): void;
}

/** Commands that find no connection fail at once: submit has a deadline, and the pacer tries again. */
const FOR_COMMANDS = { ...NEVER_WAITS, keyPrefix: '' };
/** What a BullMQ worker needs: it waits for Redis to come back. */
const FOR_WORKER = {
  maxRetriesPerRequest: null,
  enableOfflineQueue: true,
  keyPrefix: '',
};
/** Subscriptions are renewed when the connection is back. */
const FOR_MESSAGES = { ...FOR_WORKER, autoResubscribe: true };

/** Opens connections to one Redis and closes them together. */
export class Connections {
  readonly #source: ConnectionSource;
  readonly #place: string;
  readonly #opened: Connection[] = [];
  /** A prefix that the handed-in client puts before every key. */
  readonly keyPrefix: string;

  /** @throws InvalidLimitError for something that is neither an address nor a client of ioredis */
  constructor(source: ConnectionSource, place: string) {
    if (typeof (source as Partial<Duplicable> | null)?.duplicate !== 'function') {
      checkRedisAddress(source, `${place}: connection`);
    }
    this.#source = source;
    this.#place = place;
    const options = (source as { options?: { keyPrefix?: string } }).options ?? source;
    this.keyPrefix =
      (typeof options === 'object' && (options as { keyPrefix?: string }).keyPrefix) || '';
  }

  /** True for a Redis Cluster: all of a queue's keys must then share one slot. */
  get isCluster(): boolean {
    return (this.#source as { isCluster?: boolean }).isCluster === true;
  }

  /** A connection for commands, when a server of the right kind was there for the first time, and what the last attempt met. */
  commands(): {
    redis: QueueRedis;
    connected: Promise<void>;
    trouble: () => Error | undefined;
    /** Resolves when an attempt to connect met no server. */
    nobodyThere: Promise<void>;
  } {
    const connection = this.#open(FOR_COMMANDS);
    let trouble: Error | undefined;
    const nobodyThere = new Promise<void>((resolve) => {
      connection.on('error', (error) => {
        trouble = error as Error;
        if (isNobodyThere(error)) resolve();
      });
    });
    const redis = connection as QueueRedis & Connection;
    const connected = new Promise<void>((resolve) => {
      if (connection.status === 'ready') resolve();
      connection.on('ready', () => {
        trouble = undefined;
        resolve();
      });
    }).then(() => this.#checkedServer(redis));
    // Whoever waits for it is told.
    connected.catch(() => undefined);
    return { redis, connected, trouble: () => trouble, nobodyThere };
  }

  forWorker(): ConnectionOptions {
    return this.#open(FOR_WORKER) as unknown as ConnectionOptions;
  }

  subscriber(): QueueSubscriber {
    return this.#open(FOR_MESSAGES) as QueueSubscriber & Connection;
  }

  /** Ends every connection that was opened here. */
  close(): void {
    for (const connection of this.#opened) connection.disconnect();
    this.#opened.length = 0;
  }

  /** @throws StoreConfigurationError for a node of a cluster without a client that knows clusters */
  async #checkedServer(redis: QueueRedis): Promise<void> {
    if (this.isCluster) return;
    // Without the right to ask, its commands will tell.
    const info = await redis.info('cluster').catch(() => '');
    if (!info.includes('cluster_enabled:1')) return;
    throw new StoreConfigurationError(
      `${this.#place}: the server is a node of a Redis Cluster: hand in a Cluster client of ioredis`,
    );
  }

  #open(forced: object): Connection {
    const source = this.#source as Duplicable;
    let connection: unknown;
    if (typeof source === 'object' && typeof source.duplicate === 'function') {
      connection = source.isCluster
        ? source.duplicate([], {
            redisOptions: forced,
            enableOfflineQueue: forced !== FOR_COMMANDS,
          })
        : source.duplicate(forced);
    } else {
      connection = newIoRedis(
        this.#source as string | RedisConnectionOptions,
        forced,
        forced !== FOR_COMMANDS,
      );
    }
    const opened = connection as Connection;
    // Whoever uses the connection is told by its commands; without a listener ioredis prints each error.
    opened.on('error', () => undefined);
    this.#opened.push(opened);
    return opened;
  }
}
