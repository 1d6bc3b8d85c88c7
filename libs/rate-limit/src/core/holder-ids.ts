// Ids of holders: no two are the same, in any process.
import { randomBytes } from 'node:crypto';

/** 96 bits: no two processes ever draw the same. */
const RANDOM_BYTES = 12;

/** A source of ids: a random beginning of its own, and a count. */
export function holderIds(): () => string {
  const beginning = randomBytes(RANDOM_BYTES).toString('base64url');
  let count = 0;
  return () => `${beginning}.${(count++).toString(36)}`;
}
