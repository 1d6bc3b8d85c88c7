// The rights that the documentation tells people to give.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const operations = readFileSync(join(__dirname, '../../../../docs/operations.md'), 'utf8');

function rulesIn(pattern: RegExp): string[] {
  const rules = pattern.exec(operations)?.[1].split(' ');
  if (rules === undefined) throw new Error(`docs/operations.md has nothing like ${pattern}`);
  return rules;
}

/** Of the user that limits. */
export const LIMITER_RIGHTS = rulesIn(/ACL SETUSER limiter (.*)/);
/** What it needs on a cluster besides. */
export const CLUSTER_RIGHTS = rulesIn(/on a cluster `([^`]+)` besides/);
