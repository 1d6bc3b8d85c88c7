// Which concurrency limits hold for a handler. The nearest declaration of a name wins, as for rate limits.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { byIp } from '../http/key-resolvers';
import type { PolicyRegistry } from '../limiter/policy-registry';
import type { DeclaredLevel } from './declared-level';
import { type HandlerPlace, scopeAt } from './handler-place';
import { checkFunction } from './limit-options';
import type { PlannedSlots } from './plan';
import type { KeyResolver } from './rate-limit.options';

/**
 * The concurrency limits of a handler.
 *
 * @param levels from the outermost to the innermost
 * @throws InvalidLimitError naming the place, the option and the value
 */
export function plannedSlots(
  levels: readonly DeclaredLevel[],
  at: HandlerPlace,
  registry: PolicyRegistry,
  defaultKey: KeyResolver = byIp(),
): PlannedSlots[] {
  const slots = new Map<string, PlannedSlots>();
  for (const level of levels) {
    if (level.skipsAll) slots.clear();
    for (const name of level.skips) slots.delete(name);
    for (const [name, options] of level.slots) {
      const place = `${level.place}: @ConcurrencyLimit`;
      const { key = defaultKey, scope = 'route', skip } = options;
      checkFunction(key, 'key', place);
      checkFunction(skip, 'skip', place);
      if (typeof scope !== 'string' || scope === '') {
        throw new InvalidLimitError(
          `${place}: scope ${shown(scope)} is not "route", "controller", "app" or a text of your own`,
        );
      }
      const limit = registry.concurrency(options, scopeAt(scope, at), place);
      slots.set(name, { limit, key, skip });
    }
  }
  return [...slots.values()];
}
