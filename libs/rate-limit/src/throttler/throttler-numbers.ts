// Pure: what `limit` per `ttl` of @nestjs/throttler means for a token bucket.
import { parseLimit, type ParsedLimit } from '../core/limit';

/** Numbers may come from a function of the request; beyond this many different ones the memory starts anew. */
const MOST_KNOWN = 1000;

/**
 * `limit` is the capacity, and `limit / ttl` the rate: a burst of `limit`, then one every `ttl / limit`.
 *
 * @param limit as the throttler takes it: at least 1; a fraction of a call is never allowed
 * @param ttlMs more than 0; counted in whole ms, rounded up
 * @throws InvalidLimitError when it can't be counted
 */
export function throttlerNumbers(limit: number, ttlMs: number): ParsedLimit {
  const key = `${limit}/${ttlMs}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const calls = Math.floor(limit);
  const parsed = parseLimit(
    { rate: calls, per: Math.ceil(ttlMs), capacity: calls },
    `throttler: limit ${limit} per ttl ${ttlMs}`,
  );
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, parsed);
  return parsed;
}

const known = new Map<string, ParsedLimit>();
