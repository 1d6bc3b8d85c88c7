// Checks the options of the module, whether they come from forRoot or from a factory.
import { InvalidLimitError } from '../core/errors';
import { shown, type Limit } from '../core/limit';
import { headerWriter } from '../http/rate-limit-headers';
import { checkBehaviour } from '../limiter/policy';
import { MOST_BUCKETS } from '../store/bucket';
import { checkRedisAddress } from '../store/redis-address';
import { isRedisLike } from '../store/redis-like';
import { checkFunction, checkKeys, checkLimitOptions, LIMIT_KEYS } from './limit-options';
import type { RateLimitModuleOptions, RateLimitOptions } from './rate-limit.options';

const PLACE = 'RateLimitModule';
const KNOWN_KEYS = [
  'redis',
  'store',
  'keyPrefix',
  'hashKeys',
  'maxBuckets',
  'isGlobal',
  'limit',
  'always',
  'policies',
  'tiers',
  'defaultTier',
  'tierOf',
  'key',
  'skip',
  'headers',
  'onStoreFailure',
  'localShare',
  'storeTimeoutMs',
  'mode',
  'throttlerCompat',
];
const STORE_METHODS = ['take', 'peek', 'reset'];
const MOST_TIMEOUT_MS = 60_000;

/**
 * The options, checked as far as they can be by themselves. Numbers are parsed by the registry.
 *
 * @throws InvalidLimitError, UnsupportedOperationError naming the option and the value
 */
export function checkedModuleOptions(options: RateLimitModuleOptions): RateLimitModuleOptions {
  checkKeys(options, KNOWN_KEYS, PLACE);
  if (options.isGlobal !== undefined) {
    throw new InvalidLimitError(
      `${PLACE}: isGlobal ${shown(options.isGlobal)} comes too late from a factory: put it beside useFactory, useClass or useExisting`,
    );
  }
  checkFunction(options.tierOf, 'tierOf', PLACE);
  checkFunction(options.key, 'key', PLACE);
  checkFunction(options.skip, 'skip', PLACE);
  checkBehaviour(options, PLACE);
  checkStore(options);
  checkHashKeys(options.hashKeys);
  checkNumber(options.maxBuckets, 'maxBuckets', MOST_BUCKETS);
  checkNumber(options.storeTimeoutMs, 'storeTimeoutMs', MOST_TIMEOUT_MS);
  checkHeaders(options.headers);
  checkLimits(options);
  if (options.throttlerCompat !== undefined && typeof options.throttlerCompat !== 'boolean') {
    throw new InvalidLimitError(
      `${PLACE}: throttlerCompat ${shown(options.throttlerCompat)} is neither true nor false`,
    );
  }
  return options;
}

/** The `always` limits as a list. */
export function alwaysOf({ always }: RateLimitModuleOptions): readonly RateLimitOptions[] {
  if (always === undefined) return [];
  return Array.isArray(always) ? always : [always as RateLimitOptions];
}

function checkStore({ store, redis }: RateLimitModuleOptions): void {
  if (redis !== undefined) {
    if (store !== undefined) {
      throw new InvalidLimitError(`${PLACE}: redis and store are both given: give one of them`);
    }
    if (!isRedisLike(redis)) checkRedisAddress(redis, `${PLACE}: redis`);
  }
  if (store === undefined) return;
  const methods = store as unknown as Record<string, unknown> | null;
  const missing = isObject(methods)
    ? STORE_METHODS.filter((method) => typeof methods[method] !== 'function')
    : STORE_METHODS;
  if (missing.length > 0) {
    throw new InvalidLimitError(
      `${PLACE}: store ${shown(store)} lacks ${missing.join(', ')}: it must be a RateLimitStore${isRedisLike(store) ? '; a Redis client goes into the option redis' : ''}`,
    );
  }
  if (store.source !== 'shared' && store.source !== 'memory') {
    throw new InvalidLimitError(
      `${PLACE}: store.source ${shown(store.source)} is neither "shared" nor "memory"`,
    );
  }
}

function checkHashKeys(hashKeys: unknown): void {
  if (hashKeys === undefined || typeof hashKeys === 'boolean') return;
  checkKeys(hashKeys, ['secret'], `${PLACE}: hashKeys`);
  const { secret } = hashKeys as { secret?: unknown };
  if (typeof secret === 'string' && secret !== '') return;
  throw new InvalidLimitError(
    `${PLACE}: hashKeys.secret is ${secret === '' ? 'empty' : `of type ${typeof secret}`}: give a text that all instances share`,
  );
}

function checkNumber(value: unknown, option: string, most: number): void {
  if (value === undefined) return;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return;
  throw new InvalidLimitError(
    `${PLACE}: ${option} ${shown(value)} is not a whole number from 1 to ${most}`,
  );
}

function checkHeaders(headers: RateLimitModuleOptions['headers']): void {
  try {
    headerWriter(headers);
  } catch (error) {
    if (!InvalidLimitError.is(error)) throw error;
    throw new InvalidLimitError(`${PLACE}: ${error.message}`);
  }
}

function checkLimits(options: RateLimitModuleOptions): void {
  const { limit, tiers, policies } = options;
  if (limit !== undefined) checkKeys(limit, LIMIT_KEYS, `${PLACE}: limit`);
  for (const [name, row] of named<Limit>(tiers, 'tiers')) {
    const place = `${PLACE}: tiers.${name}`;
    checkKeys(row, LIMIT_KEYS, place);
    if (row.name !== undefined) {
      throw new InvalidLimitError(
        `${place}: name ${shown(row.name)} is not possible: all rows of the table are one policy`,
      );
    }
  }
  for (const [name, policy] of named<RateLimitOptions>(policies, 'policies')) {
    const place = `${PLACE}: policies.${name}`;
    checkLimitOptions(policy, place);
    if (policy.tier !== undefined) {
      throw new InvalidLimitError(
        `${place}: tier ${shown(policy.tier)} is not possible: a named policy is the same for everybody; put tier variants on the class or method`,
      );
    }
    if (policy.scope === 'route' || policy.scope === 'controller') {
      throw new InvalidLimitError(
        `${place}: scope ${shown(policy.scope)} is not possible: a named policy is one bucket everywhere; put the scope beside its name in @RateLimit`,
      );
    }
  }
  const names = new Set<string | undefined>();
  alwaysOf(options).forEach((each, i) => {
    const place = `${PLACE}: always[${i}]`;
    checkLimitOptions(each, place);
    names.add(each.name);
    if (each.name === undefined) {
      throw new InvalidLimitError(`${place}: name is missing: give each limit of always a name`);
    }
    if (each.scope !== undefined && each.scope !== 'app') {
      throw new InvalidLimitError(
        `${place}: scope ${shown(each.scope)} is not possible: a limit of always holds over the whole application`,
      );
    }
    if (policies !== undefined && Object.hasOwn(policies, each.name)) {
      throw new InvalidLimitError(
        `${place}: name ${shown(each.name)} is the name of a policy as well: choose another`,
      );
    }
  });
  if (limit !== undefined && names.has(limit.name ?? 'default')) {
    throw new InvalidLimitError(
      `${PLACE}: always and limit have the same name ${shown(limit.name ?? 'default')}: choose another`,
    );
  }
}

function named<T>(table: unknown, option: string): [string, T][] {
  if (table === undefined) return [];
  if (isObject(table) && !Array.isArray(table)) return Object.entries(table) as [string, T][];
  throw new InvalidLimitError(
    `${PLACE}: ${option} ${shown(table)} is not a table of limits by name`,
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
