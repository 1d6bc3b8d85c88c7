// Charged once all the same; but whoever bound it the second time believes that it does something.
import type { BoundGuard } from './bound-guards';
import { type LintRule, listed } from './lint-rule';

export const guardBoundTwice: LintRule = ({ handlers }) => {
  const places = handlers.flatMap(({ type, plan, guards }) => {
    const twice = repeated(guards);
    if (twice === undefined) return [];
    const isGlobal = twice.every(({ at }) => at === 'globally');
    if (isGlobal) return ['globally, twice'];
    const at = twice.map((guard) => guard.at);
    const where = at.includes('on the method') ? plan.place.name : type.name;
    return [`${where} (${[...new Set(at)].join(' and ')})`];
  });
  if (places.length === 0) return [];
  return [
    `RateLimitGuard is bound more than once: ${listed(places)}. A call is charged once all the same, so one of them does nothing: bind it once, as APP_GUARD or by @UseGuards`,
  ];
};

/** Guards that charge the same. One for some names before one for the rest is no repetition. */
function repeated(guards: readonly BoundGuard[]): BoundGuard[] | undefined {
  const byCharges = new Map<string, BoundGuard[]>();
  for (const guard of guards.filter(({ isOurs }) => isOurs === 'itself')) {
    const charges = [...(guard.charges ?? ['*'])].sort().join();
    const same = [...(byCharges.get(charges) ?? []), guard];
    if (same.length > 1) return same;
    byCharges.set(charges, same);
  }
  return undefined;
}
