// Reservations of which some only shadow: those are made beside, each on its own, and hold nobody up.
import { strictest } from '../core/decision';
import { InvalidCostError } from '../core/errors';
import { shown } from '../core/limit';
import { letPass } from './charge';
import type { Hold } from './hold';
import type { CombinedReservation } from './reservation';

/** What was reserved for one that only shadows: it starts at once, also where its bucket refused. */
export function passing(held: Hold): Hold {
  const { decision } = held;
  return { ...held, decision: decision.allowed ? decision : letPass(decision), delayMs: 0 };
}

/**
 * One reservation of those that enforce, taken together, and of each that only shadows.
 *
 * @param shadows which of the charges only shadow, in order
 * @param nowMs the moment of a reservation that nothing delays
 */
export function withShadows(
  shadows: readonly boolean[],
  enforced: CombinedReservation | undefined,
  beside: readonly CombinedReservation[],
  nowMs: number,
): CombinedReservation {
  // Which of the list for its kind each charge is.
  const [of, count] = [[] as number[], { true: 0, false: 0 }];
  for (const shadow of shadows) of.push(count[`${shadow}`]++);
  const decisions = shadows.map((shadow, i) => {
    if (!shadow) return (enforced as CombinedReservation).decisions[of[i]];
    const { binding } = beside[of[i]];
    return binding.allowed ? binding : letPass(binding);
  });
  const { allowed, binding, delayMs, startsAt } = enforced ?? {
    allowed: true,
    binding: decisions.reduce(strictest),
    delayMs: 0,
    startsAt: nowMs,
  };
  return {
    allowed,
    decisions,
    binding,
    delayMs,
    startsAt,
    async cancel() {
      await Promise.all([enforced?.cancel(), ...beside.map((each) => each.cancel())]);
    },
    async settle(actualCosts) {
      if (!Array.isArray(actualCosts) || actualCosts.length !== shadows.length) {
        throw new InvalidCostError(
          `settle: ${shown(actualCosts)} is not a list of ${shadows.length} costs, one for each charge`,
        );
      }
      await enforced?.settle(actualCosts.filter((_, i) => !shadows[i]));
      const costs = actualCosts.filter((_, i) => shadows[i]);
      await Promise.all(beside.map((each, i) => each.settle([costs[i]])));
    },
  };
}
