// One bucket for everybody lets one noisy caller empty it for all, unless something else bounds each of them.
import { shown } from '../../core/limit';
import type { PlannedLimit } from '../plan';
import { variantsOf } from '../on-limit';
import { isConstant } from './function-source';
import { type LintRule, listed } from './lint-rule';

export const oneKey: LintRule = async ({ handlers }) => {
  const places: string[] = [];
  for (const { plan } of handlers) {
    const constant: PlannedLimit[] = [];
    for (const limit of plan.limits) if (await isForEverybody(limit)) constant.push(limit);
    // Beside a limit for each caller it is the cap over all of them.
    if (constant.length < plan.limits.length) continue;
    places.push(...constant.map(({ name }) => `${shown(name)} of ${plan.place.name}`));
  }
  if (places.length === 0) return [];
  return [
    `${listed(places)}: one key for everybody, so one noisy caller empties the bucket for all. Give a key a caller (byIp(), byUser('id')), or put a limit a caller beside it`,
  ];
};

async function isForEverybody(limit: PlannedLimit): Promise<boolean> {
  for (const { key } of variantsOf(limit)) if (!(await isConstant(key))) return false;
  return true;
}
