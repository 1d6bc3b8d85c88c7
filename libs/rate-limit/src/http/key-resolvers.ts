// Knows where each kind of key is found in a caller; must not know frameworks or buckets.
//
// A caller without that kind of key gives `undefined`; `missing` says how to report it. Nothing here is trusted more
// than the caller is: a header or body field proves nothing until something verified it.
import { InvalidLimitError } from '../core/errors';
import { type Caller } from './caller';
import type { KeyPart, KeyResolver, KeyValue, MissingKey } from './key-resolver';
import {
  fieldKeyPrefix,
  findBodyKey,
  findHeaderKey,
  findIpKey,
  findTenantKey,
  findUserKey,
  headerKeyPrefix,
  type IpKeyOptions,
  ipv6PrefixOf,
  MAX_BODY_KEY_LENGTH,
} from './key-text';
import { type MaybePromise, whenThere } from './maybe-promise';

/**
 * By the client's IP address, in one spelling; IPv6 by its subnet. No address (a Unix socket, a closed connection)
 * is a missing key. The address is the framework's: behind a proxy, configure the framework's proxy trust.
 *
 * @throws InvalidLimitError for a bad `ipv6Prefix`.
 */
export function byIp(options?: IpKeyOptions): KeyResolver {
  const ipv6Prefix = ipv6PrefixOf(options);
  const missing = { status: 400, what: 'the client has no IP address' } as const;
  return reporting({ missing, kind: 'ip' }, (caller) => findIpKey(caller.ip, ipv6Prefix));
}

/**
 * By a request header, trimmed. Of a header that comes as several values the first counts (Node joins the repeated
 * lines of most headers into one value with commas before that). Length is not limited here: long keys are
 * digested, never cut.
 *
 * @throws InvalidLimitError for a name that no header can have.
 */
export function byHeader(name: string): KeyResolver {
  const prefix = headerKeyPrefix(name);
  const header = name.toLowerCase();
  const missing = { status: 400, what: `the request has no header "${header}"` } as const;
  return reporting({ missing, kind: 'header' }, (caller) => {
    const value = caller.headers[header];
    return findHeaderKey(prefix, Array.isArray(value) ? value[0] : value);
  });
}

/**
 * By a field of the authenticated user. Missing = 401. A field that holds an object is an error of the application.
 *
 * @param field name of the field. @default 'id'
 * @throws InvalidLimitError for a field that is empty or holds a colon.
 */
export function byUser(field = 'id'): KeyResolver {
  const prefix = fieldKeyPrefix('user', field);
  const missing = { status: 401, what: 'the caller is not logged in' } as const;
  return reporting({ missing, kind: 'user' }, (caller) =>
    findUserKey(prefix, (caller.user as Record<string, unknown> | null | undefined)?.[field]),
  );
}

/**
 * By the tenant that `find` names: `byTenant((caller) => caller.user?.orgId)`. What `find` throws fails the call.
 *
 * @throws InvalidLimitError when `find` is no function.
 */
export function byTenant<Context = unknown>(
  find: (caller: Caller, context: Context) => MaybePromise<KeyValue>,
): KeyResolver<Context> {
  if (typeof find !== 'function') {
    throw new InvalidLimitError(
      `byTenant(${String(find)}): give a function from the caller to its tenant`,
    );
  }
  const missing = { status: 400, what: 'the caller belongs to no tenant' } as const;
  return reporting({ missing, parts: [find] }, (caller, context) =>
    whenThere(find(caller, context), findTenantKey),
  );
}

/**
 * By a field of the body: trimmed, lower-cased, in Unicode's form NFC. Only text up to 256 and finite numbers; anything
 * else is a missing key. Pair it with the IP (`allOf(byBody('email'), byIp())`) where locking someone out would hurt.
 *
 * @throws InvalidLimitError for a field that is empty or holds a colon.
 */
export function byBody(field: string): KeyResolver {
  const prefix = fieldKeyPrefix('body', field);
  const what = `the body has no field "${field}" with text of up to ${MAX_BODY_KEY_LENGTH} characters or a number`;
  return reporting({ missing: { status: 400, what }, kind: 'body' }, (caller) => {
    const body: unknown = caller.body;
    // Own fields only: every object has a `constructor`.
    if (typeof body !== 'object' || body === null || !Object.hasOwn(body, field)) return undefined;
    return findBodyKey(prefix, (body as Record<string, unknown>)[field]);
  });
}

function reporting<Context>(
  about: { readonly missing: MissingKey } & Pick<KeyPart, 'kind' | 'parts'>,
  find: (caller: Caller, context: Context) => MaybePromise<KeyValue>,
): KeyResolver<Context> {
  return Object.assign(find, about);
}
