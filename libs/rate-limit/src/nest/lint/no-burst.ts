// A bucket that holds one second's worth refuses whoever sends two things at once too many.
import { shown } from '../../core/limit';
import { MS_PER_SECOND } from '../../core/duration';
import { variantsOf } from '../on-limit';
import { type LintRule, listed } from './lint-rule';

export const noBurst: LintRule = ({ handlers, throttlers }) => {
  const places = new Map<string, { rate: number; at: string[] }>();
  for (const { plan } of handlers) {
    for (const limit of plan.limits.filter(({ name }) => !throttlers.has(name))) {
      for (const { scoped, onLimit } of variantsOf(limit)) {
        const { policy } = scoped;
        const { algorithm, rate, perMs, capacityTokens } = policy.limit;
        // Who waits or is deferred is not refused, and a shadow refuses nobody.
        if (onLimit !== 'reject' || policy.shadow || algorithm !== 'token-bucket') continue;
        if (perMs !== MS_PER_SECOND || capacityTokens !== rate) continue;
        const entry = places.get(`${limit.name} ${rate}`) ?? { rate, at: [] };
        entry.at.push(`${shown(limit.name)} of ${plan.place.name}`);
        places.set(`${limit.name} ${rate}`, entry);
      }
    }
  }
  return [...places.values()].map(
    ({ rate, at }) =>
      `${listed(at)}: capacity ${rate} is what one second brings, so there is no room for a burst: ${rate + 1} calls at once are one too many, however quiet it was before. Leave capacity out (${2 * rate}), or say algorithm: 'leaky-bucket' if no burst is what you want`,
  );
};
