// Pure: the tier table, and which row a caller gets.
import { InvalidLimitError, UnknownPolicyError } from '../core/errors';
import { ratePerSecond, shown } from '../core/limit';
import type { Policy } from './policy';

/** Named rows of limits. Rows share one bucket a key, so a caller whose tier changes keeps tokens. */
export interface TierTable {
  /** Row names, as registered. */
  readonly names: readonly string[];
  /** The row of callers without a tier, or with an unknown one. */
  readonly defaultTier: string;
  /** The row of a tier; an unknown or missing tier gets the default row, never "no limit". */
  row(tier: string | undefined): Policy;
}

/** The row with the least rate, then the least capacity. */
function strictestRow(rows: ReadonlyMap<string, Policy>): string {
  let [strictest] = rows;
  for (const row of rows) {
    const [a, b] = [row[1].limit, strictest[1].limit];
    const [rateA, rateB] = [ratePerSecond(a), ratePerSecond(b)];
    if (rateA < rateB || (rateA === rateB && a.capacityTokens < b.capacityTokens)) strictest = row;
  }
  return strictest[0];
}

/**
 * @param rows at least one
 * @throws InvalidLimitError when there is no row, or `defaultTier` is none of them
 */
export function tierTable(
  rows: ReadonlyMap<string, Policy>,
  defaultTier: string | undefined,
): TierTable {
  const names = [...rows.keys()];
  if (names.length === 0) {
    throw new InvalidLimitError(
      'RateLimitModule: tiers has no row: give at least one, or leave tiers out',
    );
  }
  if (defaultTier !== undefined && !rows.has(defaultTier)) {
    throw new InvalidLimitError(
      `RateLimitModule: defaultTier ${shown(defaultTier)} is none of the tiers ${names.join(', ')}`,
    );
  }
  const fallback = defaultTier ?? strictestRow(rows);
  return {
    names,
    defaultTier: fallback,
    row: (tier) => rows.get(tier ?? fallback) ?? (rows.get(fallback) as Policy),
  };
}

/** @throws UnknownPolicyError naming the known tiers */
export function knownTier(tier: string, names: readonly string[]): string {
  if (names.includes(tier)) return tier;
  throw new UnknownPolicyError(
    `tier ${shown(tier)} is not registered; known tiers: ${names.join(', ') || 'none'}`,
  );
}
