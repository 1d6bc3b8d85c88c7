// Knows the text of every kind of key; must not know callers or frameworks. Pure.
//
// A key starts with its kind, and no name in it holds a colon, so keys of two kinds or two names never meet. Here are
// the functions for service calls: `limiter.reset(userKey('id', 5), 'search')` names the bucket that
// `byUser('id')` charges. Each `find…` answers `undefined` where its twin throws MissingKeyError.
import { InvalidLimitError, MissingKeyError } from '../core/errors';
import { canonicalIp, checkedIpv6Prefix, DEFAULT_IPV6_PREFIX } from './client-ip';
import { keyText, type KeyValue } from './key-resolver';

/** How IP addresses are grouped. */
export interface IpKeyOptions {
  /** Leading bits of an IPv6 address that share a bucket; 1 to 128. @default 64 */
  readonly ipv6Prefix?: number;
}

/** Longest text, in UTF-16 units after trimming, that a body field may have to be a key. */
export const MAX_BODY_KEY_LENGTH = 256;

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * The key of `byIp(options)`: `ip:1.2.3.4`, `ip:2001:db8::/64`; every spelling of an address gives one key.
 *
 * @throws MissingKeyError when `ip` is no address. @throws InvalidLimitError for a bad `ipv6Prefix`.
 */
export function ipKey(ip: string, options?: IpKeyOptions): string {
  return found(findIpKey(ip, ipv6PrefixOf(options)), `${JSON.stringify(ip)} is no IP address`);
}

export function findIpKey(ip: string | undefined, ipv6Prefix: number): string | undefined {
  return prefixed('ip:', canonicalIp(ip, ipv6Prefix));
}

/** The prefix length of the options, checked. @throws InvalidLimitError when it is none. */
export function ipv6PrefixOf(options: IpKeyOptions | undefined): number {
  return checkedIpv6Prefix(options?.ipv6Prefix ?? DEFAULT_IPV6_PREFIX);
}

/**
 * The key of `byHeader(name)`: `header:x-api-key:abc`. The name in any case, the value trimmed and otherwise kept.
 *
 * @throws MissingKeyError for an empty value. @throws InvalidLimitError for a name that no header can have.
 */
export function headerKey(name: string, value: string): string {
  return found(findHeaderKey(headerKeyPrefix(name), value), `header "${name}" is empty`);
}

export function headerKeyPrefix(name: string): string {
  if (typeof name === 'string' && HEADER_NAME.test(name)) return `header:${name.toLowerCase()}:`;
  throw new InvalidLimitError(`byHeader(${JSON.stringify(name)}): that is no header name`);
}

export function findHeaderKey(prefix: string, value: unknown): string | undefined {
  return typeof value === 'string' ? prefixed(prefix, keyText(value.trim())) : undefined;
}

/**
 * The key of `byUser(field)`: `user:id:5`; the number 5 and the text '5' are one user.
 *
 * @throws MissingKeyError for `undefined`, `null`, '' and NaN. @throws InvalidLimitError for an object, or a field
 * that is empty or holds a colon.
 */
export function userKey(field: string, value: KeyValue): string {
  return found(findUserKey(fieldKeyPrefix('user', field), value), `user.${field} is empty`);
}

export function findUserKey(prefix: string, value: unknown): string | undefined {
  return prefixed(prefix, keyText(value));
}

/**
 * The key of `byTenant(…)`: `tenant:acme`.
 *
 * @throws MissingKeyError for `undefined`, `null`, '' and NaN. @throws InvalidLimitError for an object.
 */
export function tenantKey(tenant: KeyValue): string {
  return found(findTenantKey(tenant), 'the tenant is empty');
}

export function findTenantKey(tenant: unknown): string | undefined {
  return prefixed('tenant:', keyText(tenant));
}

/**
 * The key of `byBody(field)`: `body:email:ada@example.org`. Text is trimmed, lower-cased and brought into Unicode's
 * form NFC, so that an account has one bucket however it is typed. Never cut: longer than 256 = no key.
 *
 * @throws MissingKeyError when `value` is empty, too long, or neither text nor a finite number.
 * @throws InvalidLimitError for a field that is empty or holds a colon.
 */
export function bodyKey(field: string, value: string | number): string {
  return found(
    findBodyKey(fieldKeyPrefix('body', field), value),
    `body field "${field}" is empty, longer than ${MAX_BODY_KEY_LENGTH}, or neither text nor number`,
  );
}

export function findBodyKey(prefix: string, value: unknown): string | undefined {
  if (typeof value === 'number') return prefixed(prefix, keyText(value));
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (text.length > MAX_BODY_KEY_LENGTH) return undefined;
  return prefixed(prefix, keyText(text.toLowerCase().normalize('NFC')));
}

export function fieldKeyPrefix(kind: 'user' | 'body', field: string): string {
  if (typeof field === 'string' && field !== '' && !field.includes(':')) return `${kind}:${field}:`;
  const resolver = kind === 'user' ? 'byUser' : 'byBody';
  throw new InvalidLimitError(
    `${resolver}(${JSON.stringify(field)}): name one field, without a colon`,
  );
}

/**
 * The key of `allOf(…)` from the keys of its parts, in order: `all:9:ip:1.2.3.4,9:user:id:5,` (each part with its
 * length before it, so that no two lists of parts give one key).
 */
export function allOfKey(...parts: readonly string[]): string {
  return `all:${parts.map((part) => `${part.length}:${part},`).join('')}`;
}

function prefixed(prefix: string, text: string | undefined): string | undefined {
  return text === undefined ? undefined : prefix + text;
}

function found(key: string | undefined, otherwise: string): string {
  if (key === undefined) throw new MissingKeyError(`no key: ${otherwise}`);
  return key;
}
