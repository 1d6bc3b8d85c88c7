// Pure: the name of a bucket in the store. No two different (policy, scope, key) ever share one.
import { createHash, createHmac } from 'node:crypto';
import { InvalidLimitError } from './errors';

/** Keys of up to this many UTF-16 units stay readable in the store; longer ones are digested. */
const LONGEST_READABLE_KEY = 128;
/** 132 bits: nobody finds two keys with one digest. */
const DIGEST_LENGTH = 22;
/** Marks a digest. A key that starts with it is digested too, so that it cannot pose as one. */
const DIGEST_MARK = '~';
// A lone surrogate has no UTF-8 form: Redis clients write U+FFFD for all of them.
const NOT_UTF8 = /\p{Surrogate}/u;

/** Turns (policy, scope, key) into the name of a bucket. */
export interface BucketNamer {
  /**
   * Everything of the name that is known before the key is. Worth keeping: it is the same for
   * every request of a handler.
   */
  place(policy: string, scope: string): BucketPlace;
  /** A key as part of some other name in the store: as readable as in the names of buckets. */
  token(key: string): string;
}

/** The part of a bucket's name that does not depend on the key. */
export interface BucketPlace {
  /** Unique for the policy and scope. */
  readonly name: string;
  readonly policy: string;
  /** The bucket's name for one key, any string. */
  bucket(key: string): string;
  /**
   * The name of what was configured for one key: one for the policy in all its scopes, in the slot of
   * the key's buckets, and never the name of a bucket.
   */
  configuration(key: string): string;
}

/**
 * FNV-1a, 32 bits, over the UTF-16 units. It only spreads keys over the slots of a cluster and
 * keeps client-chosen braces out of the hash tag; the name itself carries the whole key.
 */
function slotDigest(key: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

function utf16(key: string): Buffer {
  return Buffer.from(key, 'utf16le');
}

/** A key as part of a name in the store: itself where it is short and has a UTF-8 form, else a digest of it. */
export function keyToken(key: string): string {
  if (key.length <= LONGEST_READABLE_KEY && !key.startsWith(DIGEST_MARK) && !NOT_UTF8.test(key)) {
    return key;
  }
  const digest = createHash('sha256').update(utf16(key)).digest('base64url');
  return DIGEST_MARK + digest.slice(0, DIGEST_LENGTH);
}

/** Keeps the separator and braces out of a scope. One-to-one, so that scopes stay apart. */
function escapedScope(scope: string): string {
  return scope.replace(/[%:{}\s\p{Surrogate}]/gu, (unit) => `%${unit.charCodeAt(0).toString(16)};`);
}

/**
 * Names buckets `<prefix>:{<digest>}:<policy>:<scope>:<key>`. Only a digest of the key stands in the
 * hash tag, so all buckets of one key live in one slot of a Redis Cluster, whatever a client sends.
 *
 * Readable keys hold the caller's identity in clear. With `secret` they hold a keyed hash
 * (HMAC-SHA-256, 132 bits) instead.
 *
 * @param prefix not empty; braces are refused, since they would put every bucket into one slot
 * @throws InvalidLimitError for a prefix that cannot be used
 */
export function bucketNamer(prefix: string, secret?: string): BucketNamer {
  if (typeof prefix !== 'string' || prefix === '' || /[{}]/.test(prefix)) {
    throw new InvalidLimitError(
      `RateLimitModule: keyPrefix ${JSON.stringify(prefix)} cannot be used: give a non-empty text without braces (braces would put every bucket into one cluster slot)`,
    );
  }
  const digest = (key: string) =>
    createHmac('sha256', secret ?? '')
      .update(utf16(key))
      .digest('base64url')
      .slice(0, DIGEST_LENGTH);
  return {
    token: secret === undefined ? keyToken : digest,
    place(policy, scope) {
      const start = `${prefix}:{`;
      const name = `${policy}:${escapedScope(scope)}`;
      const bucket = `}:${name}`;
      // No bucket's name has this character there.
      const configuration = `}!${policy}`;
      if (secret === undefined) {
        const named = (middle: string) => (key: string) =>
          `${start}${slotDigest(key)}${middle}:${keyToken(key)}`;
        return { name, policy, bucket: named(bucket), configuration: named(configuration) };
      }
      const named = (end: string) => (key: string) => start + digest(key) + end;
      return { name, policy, bucket: named(bucket), configuration: named(configuration) };
    },
  };
}
