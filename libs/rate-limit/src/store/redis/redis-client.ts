// A Redis client of our own: never queues, never repeats, gives up soon, comes back soon. `ioredis` is loaded here,
// and only when it is needed.
import { StoreConfigurationError, StoreUnavailableError } from '../../core/errors';
import type { RedisConnectionOptions, RedisLike } from '../redis-like';
import { Refusals } from './refusals';

/** What is used of an ioredis client. */
interface IoRedis extends RedisLike {
  readonly status: string;
  on(event: 'connect' | 'ready' | 'end' | 'error', listener: (error?: unknown) => void): this;
  quit(): Promise<unknown>;
  disconnect(): void;
}
type IoRedisClass = new (
  forced: object,
  connection: string | RedisConnectionOptions,
  defaults: object,
) => IoRedis;

const MOST_RETRY_DELAY_MS = 1000;

/** Nobody may set these: with them a call waits for a Redis that is away, or is charged twice. */
export const NEVER_WAITS = {
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // A lost connection rejects what was sent on it, instead of leaving it without an answer.
  maxRetriesPerRequest: 0,
  lazyConnect: false,
};

const DEFAULTS = {
  connectTimeout: 2000,
  disconnectTimeout: 500,
  // A connection that answers nothing for this long is given up: a network may drop packets without
  // a word. Long, because a stall of our own event loop must not cost a good connection. There is no
  // commandTimeout for the same reason: the store's deadline lets answers that have arrived win.
  socketTimeout: 5000,
  retryStrategy: (times: number) => Math.min(50 * 2 ** (times - 1), MOST_RETRY_DELAY_MS),
  // After a failover the old primary is a replica: look again where the name leads.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
};

/**
 * Opens a connection. Returns at once; the client connects, and reconnects for ever, by itself.
 *
 * @throws StoreConfigurationError when `ioredis` is not installed
 */
export function openRedis(connection: string | RedisConnectionOptions): OwnRedis {
  const IoRedis = loadIoRedis();
  // Of several sources ioredis takes each option from the first that has it.
  return new OwnRedis(new IoRedis(NEVER_WAITS, connection, DEFAULTS));
}

/**
 * An ioredis client as it is; whoever opens it closes it.
 * @param forced options that win over the connection's
 * @param mayBeSilent for blocking commands and subscriptions: silence is what they are there for
 */
export function newIoRedis(
  connection: string | RedisConnectionOptions,
  forced: object,
  mayBeSilent: boolean,
): unknown {
  const IoRedis = loadIoRedis();
  const { socketTimeout, ...defaults } = DEFAULTS;
  return new IoRedis(forced, connection, mayBeSilent ? defaults : { ...defaults, socketTimeout });
}

function loadIoRedis(): IoRedisClass {
  try {
    return (require('ioredis') as { Redis: IoRedisClass }).Redis;
  } catch (error) {
    throw new StoreConfigurationError(
      'RateLimitModule: the option redis needs the package ioredis: npm install ioredis, or hand in a client of your own',
      { cause: error },
    );
  }
}

/**
 * The client, and what it is known to be refused for: a wrong password shows when connecting, where
 * no call is, and must not look like an outage to the calls.
 */
export class OwnRedis implements RedisLike {
  readonly #client: IoRedis;
  readonly #refusals: Refusals;
  /** Why there is no connection, in the words of the last attempt. */
  #trouble: unknown;
  #closing: Promise<void> | undefined;

  constructor(client: IoRedis) {
    this.#client = client;
    this.#refusals = new Refusals(client);
    // Without a listener ioredis writes every failed attempt to the console.
    client.on('error', (error) => (this.#trouble = error));
  }

  evalsha(sha: string, numberOfKeys: number, ...args: (string | number)[]): Promise<unknown> {
    return this.#refused() ?? this.#client.evalsha(sha, numberOfKeys, ...args);
  }

  eval(script: string, numberOfKeys: number, ...args: (string | number)[]): Promise<unknown> {
    return this.#refused() ?? this.#client.eval(script, numberOfKeys, ...args);
  }

  del(key: string): Promise<unknown> {
    return this.#refused() ?? this.#client.del(key);
  }

  info(section: string): Promise<unknown> {
    return this.#refused() ?? Promise.resolve(this.#client.info?.(section));
  }

  /**
   * Waits for the connection, at most `ms`, and no longer than until it is refused. Returns what went wrong instead of
   * throwing it.
   */
  async connected(ms: number): Promise<Error | undefined> {
    if (this.#client.status === 'ready') return this.#refusals.current;
    let last: Error | undefined;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      const finish = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#client.on('ready', finish);
      this.#client.on('error', (error) => {
        last = new Error(messageOf(error), { cause: error });
        if (this.#refusals.current !== undefined || isNobodyThere(error)) finish();
      });
    });
    if (this.#refusals.current !== undefined) return this.#refusals.current;
    if (this.#client.status === 'ready') return undefined;
    return last ?? new Error(`no connection within ${ms} ms`);
  }

  /** Ends the connection; waits for the answers of a server that gives any. Twice is once. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      if (this.#client.status === 'end') resolve();
      else this.#client.on('end', () => resolve());
    });
    if (this.#client.status === 'ready') {
      const patience = setTimeout(() => this.#client.disconnect(), DEFAULTS.disconnectTimeout);
      await this.#client.quit().catch(() => this.#client.disconnect());
      clearTimeout(patience);
    } else {
      // Between two attempts to connect there is no connection whose end would be told.
      const isIdle = this.#client.status === 'reconnecting';
      this.#client.disconnect();
      if (isIdle) return;
    }
    await ended;
  }

  /** Why a command is not worth sending. */
  #refused(): Promise<never> | undefined {
    if (this.#refusals.current !== undefined) return Promise.reject(this.#refusals.current);
    if (this.#client.status === 'ready') return undefined;
    const reason = this.#trouble === undefined ? '' : `: ${messageOf(this.#trouble)}`;
    return Promise.reject(
      new StoreUnavailableError(`Redis is out: no connection${reason}`, { cause: this.#trouble }),
    );
  }
}

/** True when the machine answered, and no server listens there: waiting for an answer is in vain. */
export function isNobodyThere(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ECONNREFUSED';
}

/** Of several failed attempts at once (one an address) Node gives no text, only a code. */
function messageOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error);
}
