// A Redis that makes room by throwing keys away: a bucket that is gone is a full one.
import type { LintRule } from './lint-rule';

export const evictingRedis: LintRule = async ({ store }) => {
  const policy = await store.evictionPolicy?.();
  if (policy === undefined || policy === 'noeviction') return [];
  return [
    `Redis has maxmemory-policy ${policy}: when it is full it throws buckets away, and a bucket that is gone is a full one. Set noeviction, and keep a cache that needs eviction in another instance`,
  ];
};
