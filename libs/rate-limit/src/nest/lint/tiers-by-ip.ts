// A tier belongs to an account; callers of several tiers share an address, and then one bucket has several sizes.
import { shown } from '../../core/limit';
import { isByIp } from './function-source';
import { type LintRule, listed } from './lint-rule';
import { variantsOf } from '../on-limit';

export const tiersByIp: LintRule = ({ handlers }) => {
  const places = handlers.flatMap(({ plan }) =>
    plan.limits
      .filter(
        (limit) => limit.byTier !== undefined && variantsOf(limit).every(({ key }) => isByIp(key)),
      )
      .map(({ name }) => `${shown(name)} of ${plan.place.name}`),
  );
  if (places.length === 0) return [];
  return [
    `${listed(places)}: tiers, and the address as key: callers of different tiers behind one address share a bucket, and one caller has a bucket an address. Give a key that the tier belongs to: key: firstOf(byUser('id'), byIp())`,
  ];
};
