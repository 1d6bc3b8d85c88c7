// Who the customers are, and who is calling. A real API would ask its database.
import { ipKey, tenantKey } from 'nest-rate-limit';

/** A customer: what his plan is called in the tier table. */
export interface Account {
  readonly name: string;
  readonly tier: 'free' | 'pro' | 'enterprise' | 'slow';
}

/** API keys of the demo. */
export const API_KEYS: Readonly<Record<string, Account>> = {
  'free-key': { name: 'hobby', tier: 'free' },
  'free-key-2': { name: 'student', tier: 'free' },
  'pro-key': { name: 'startup', tier: 'pro' },
  'enterprise-key': { name: 'corp', tier: 'enterprise' },
  'slow-key': { name: 'snail', tier: 'slow' },
};

/** The plan of callers without an account. */
export const DEFAULT_TIER = 'free';

/** What is known of a request. Nest's requests and the library's `Caller` both have these two. */
export interface Asking {
  readonly headers: Record<string, string | string[] | undefined>;
  readonly ip?: string;
}

/** The account whose API key was sent; `undefined` without one, and with a made-up one. */
export function accountOf({ headers }: Asking): Account | undefined {
  const apiKey = headers['x-api-key'];
  return typeof apiKey === 'string' && Object.hasOwn(API_KEYS, apiKey)
    ? API_KEYS[apiKey]
    : undefined;
}

/**
 * Whose bucket a request takes from: the account's, else the address'. A made-up API key counts as
 * none: if it named a bucket, every guess would buy a fresh one. The account and not its API key, so
 * that a second key buys nothing either and no secret is written to Redis.
 */
export function keyOf(asking: Asking): string {
  const account = accountOf(asking);
  return account === undefined ? ipKey(asking.ip ?? '') : tenantKey(account.name);
}

/** An account by its name, for the admin. */
export function accountNamed(name: string): Account | undefined {
  return Object.values(API_KEYS).find((account) => account.name === name);
}
