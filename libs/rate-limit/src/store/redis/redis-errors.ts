// What an error of the Redis client means: an outage that may pass, or a configuration that will not.
import { RateLimitError, StoreConfigurationError, StoreUnavailableError } from '../../core/errors';

/**
 * Replies of a server that cannot serve right now. Everything else that a server answers (NOAUTH,
 * NOPERM, WRONGTYPE, CROSSSLOT, a broken script …) will not pass by itself.
 */
const OUTAGES = new Set([
  'LOADING',
  'READONLY',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'MOVED',
  'ASK',
  'BUSY',
  'UNKILLABLE',
  'OOM',
  'MISCONF',
  'NOREPLICAS',
]);
const REPLY_PREFIX = /^([A-Z]{2,})(?:\s|$)/;
/** Redis 6 wraps what a command answered inside a script; newer ones hand it on. */
const INSIDE_SCRIPT = /^ERR Error running script .*: -?([A-Z]{2,}) /;
const SCRIPT_LINE = /@user_script:(\d+)/;
const FULL_HOUSE = 'ERR max number of clients reached';

/** The upper-case word that a Redis error reply starts with; `undefined` for a client's own error. */
function replyPrefix(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // ReplyError is the class of redis-parser; copies of it differ, so it is known by its name.
  if (error.name !== 'ReplyError') return undefined;
  const { message } = error;
  return (INSIDE_SCRIPT.exec(message) ?? REPLY_PREFIX.exec(message))?.[1] ?? 'ERR';
}

/** True when the server does not know the script: nothing was run, so it is safe to send it whole. */
export function isUnknownScript(error: unknown): boolean {
  return replyPrefix(error) === 'NOSCRIPT';
}

/** True for a reply that no waiting will change. */
export function isConfigurationError(error: unknown): boolean {
  const prefix = replyPrefix(error);
  if (prefix === undefined || OUTAGES.has(prefix)) return false;
  return !(error as Error).message.startsWith(FULL_HOUSE);
}

/**
 * The error of this library for an error of the client. Errors of this library pass unchanged.
 * @param lua the script that ran, to name the line that was refused
 */
export function storeError(error: unknown, lua = ''): RateLimitError {
  if (error instanceof RateLimitError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return isConfigurationError(error)
    ? new StoreConfigurationError(
        `Redis refuses the rate limiter: ${text}${refusedCall(error as Error, lua)}. Check the password, the ACL and the key prefix`,
        { cause: error },
      )
    : new StoreUnavailableError(`Redis is out: ${text}`, { cause: error });
}

/** What was refused, where the reply does not name it: the line of the script, or the command and its first key. */
function refusedCall(error: Error, lua: string): string {
  const line = lua.split('\n')[Number(SCRIPT_LINE.exec(error.message)?.[1]) - 1];
  if (line !== undefined) return ` (${line.trim()})`;
  const { name, args = [] } =
    (error as { command?: { name?: string; args?: unknown[] } }).command ?? {};
  if (name === undefined || replyPrefix(error) !== 'NOPERM') return '';
  // A script is called by its digest and the number of its keys, then the keys.
  const key = name.startsWith('eval') ? args[2] : args[0];
  return typeof key === 'string' ? ` (${name} ${key})` : ` (${name})`;
}
