// What can be known of the address of a Redis before anybody connects to it. Pure. What ioredis understands is not refused.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';

const REDIS_URL = /^(rediss?:\/\/|\/)/i;
const HIGHEST_PORT = 65_535;

interface Parts {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly db?: unknown;
}

/**
 * Refuses what ioredis would only find out by trying to connect, again and again.
 *
 * @param address a URL, the path of a socket, or options of ioredis
 * @param option where it was given: `RateLimitModule: redis`
 * @throws InvalidLimitError naming option and value; a password in a URL is not shown
 */
export function checkRedisAddress(address: unknown, option: string): void {
  if (typeof address === 'string') {
    checkParts(partsOf(address, option), `${option} ${withoutSecret(address)}: `);
  } else if (typeof address === 'object' && address !== null) {
    checkParts(address, `${option}.`);
  } else {
    throw noAddress(address, option);
  }
}

/** As ioredis takes a URL apart. */
function partsOf(address: string, option: string): Parts {
  if (!REDIS_URL.test(address)) throw noAddress(address, option);
  const isPath = /^\/[^/]/.test(address);
  const text = address.startsWith('/') ? `redis:${isPath ? '//socket' : ''}${address}` : address;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw noAddress(address, option);
  }
  const asked = Object.fromEntries(url.searchParams);
  const db = isPath ? '' : url.pathname.replace(/^\/|\/+$/g, '');
  return {
    host: url.hostname || asked.host,
    port: url.port || asked.port,
    db: db || asked.db,
  };
}

function checkParts({ host, port, db }: Parts, place: string): void {
  if (host !== undefined && (typeof host !== 'string' || host === '')) {
    throw new InvalidLimitError(`${place}host ${shown(host)} is not a name or an address`);
  }
  if (port !== undefined && !isWhole(port, 1, HIGHEST_PORT)) {
    throw new InvalidLimitError(
      `${place}port ${shown(port)} is not a whole number from 1 to ${HIGHEST_PORT}`,
    );
  }
  if (db !== undefined && !isWhole(db, 0, Number.MAX_SAFE_INTEGER)) {
    throw new InvalidLimitError(`${place}db ${shown(db)} is not a whole number from 0 on`);
  }
}

/** As ioredis reads it: settings may come from the environment as text. */
function isWhole(value: unknown, least: number, most: number): boolean {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) && (number as number) >= least && (number as number) <= most;
}

function noAddress(address: unknown, option: string): InvalidLimitError {
  const value = typeof address === 'string' ? withoutSecret(address) : shown(address);
  return new InvalidLimitError(
    `${option} ${value} is neither a URL (redis://host:port), nor ioredis options, nor a client`,
  );
}

function withoutSecret(address: string): string {
  return shown(address.replace(/^.*@/, '…@').replace(/([?&]password=)[^&]*/i, '$1…'));
}
