// What the surroundings decide: the environment, read once. Knows nothing of Nest.

/** Everything of the demo that may be set from outside. */
export interface Settings {
  readonly adapter: 'express' | 'fastify';
  /** Loopback only, unless asked otherwise: the keys of this demo are no secret. */
  readonly host: string;
  /** Exactly this port; `undefined`: 3000, or a free one when 3000 is taken. */
  readonly port: number | undefined;
  /** `undefined`: buckets live in the memory of this process. */
  readonly redisUrl: string | undefined;
  /** Starts the name of every bucket in Redis. */
  readonly keyPrefix: string;
  readonly adminToken: string;
  /** The always-on limit of one address over all routes. */
  readonly perIp: { readonly rate: number; readonly capacity: number };
  /** Calls that all instances together can have in flight, a fifth of them only critical ones; `undefined`: any number. */
  readonly fleet: number | undefined;
  /** What the mail provider takes. */
  readonly mailsPerSecond: number;
}

/** Printed at the start, unless `ADMIN_TOKEN` says otherwise. */
export const DEMO_ADMIN_TOKEN = 'demo-admin';

/**
 * Reads the settings. Variables come as text, also numbers: each is converted and checked here, so
 * that '10' never reaches a limit.
 *
 * @throws Error naming the variable and its value
 */
export function settingsFrom(env: NodeJS.ProcessEnv): Settings {
  return {
    adapter: oneOf('ADAPTER', env.ADAPTER || 'express', ['express', 'fastify']),
    host: env.HOST || '127.0.0.1',
    port: env.PORT ? wholeNumber('PORT', env.PORT, 65_535) : undefined,
    redisUrl: env.REDIS_URL || undefined,
    keyPrefix: env.KEY_PREFIX || 'demo',
    adminToken: env.ADMIN_TOKEN || DEMO_ADMIN_TOKEN,
    perIp: { rate: 5000, capacity: 10_000 },
    fleet: env.FLEET ? wholeNumber('FLEET', env.FLEET, 1_000_000) : undefined,
    mailsPerSecond: 5,
  };
}

function wholeNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= most) return value;
  throw new Error(`${name}=${text}: give a whole number from 0 to ${most}`);
}

function oneOf<const T extends string>(name: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((known) => known === text);
  if (choice !== undefined) return choice;
  throw new Error(`${name}=${text}: use ${choices.join(' or ')}`);
}
