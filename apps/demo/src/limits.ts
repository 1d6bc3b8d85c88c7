// What the demo sells: every number of its limits stands here or beside the route it belongs to.
import { byIp, type LoadSheddingOptions, type RateLimitModuleOptions } from 'nest-rate-limit';
import { accountOf, DEFAULT_TIER, keyOf } from './accounts';
import { type Settings } from './settings';

/** One row a plan. A caller's routes share his bucket, unless a route brings its own limit. */
export const TIERS = {
  free: { rate: 10, capacity: 20 },
  pro: { rate: 100, capacity: 200 },
  enterprise: { rate: 1000, capacity: 2000 },
  // Slow enough to watch by hand.
  slow: { rate: 1, capacity: 5 },
};

/** The options of the rate limit module. */
export function limitsOf({ redisUrl, keyPrefix, perIp }: Settings): RateLimitModuleOptions {
  return {
    redis: redisUrl,
    keyPrefix,
    tiers: TIERS,
    // Callers without an API key, too. Without this line they would get the strictest row: slow.
    defaultTier: DEFAULT_TIER,
    key: keyOf,
    tierOf: (caller) => accountOf(caller)?.tier,
    // No address is served more than this over all its keys. Above the sum of the plans that may
    // share an office's address, so that a customer hits his own limit first.
    always: { name: 'ip', ...perIp, key: byIp() },
    policies: {
      // What we may ask of the radar ourselves, for each customer: see radar.controller.ts.
      radar: { rate: 1, per: 'second', capacity: 3 },
    },
  };
}

/** When the demo refuses calls for its own sake, downloads first, logins and health checks never. */
export function sheddingOf({ fleet }: Settings): LoadSheddingOptions {
  return {
    fleet: fleet === undefined ? undefined : { max: fleet, reserve: 0.2 },
    // Late enough for a laptop that does other things, too.
    worker: { eventLoopDelayMs: { from: 200, full: 1000 } },
  };
}
