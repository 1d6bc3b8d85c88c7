// Work whose cost is known when it is done: reserve an estimate, run, settle. Framework-free.
import type { Scheduler } from '../core/clock';
import { InvalidCostError, StoreUnavailableError, WaitTooLongError } from '../core/errors';
import { shown } from '../core/limit';
import { creditsOf, type CombinedReservation } from './reservation';
import { sleep } from './sleep';
import type { PreparedCharge } from './charge';

/** How long the work may wait. */
export interface BudgetOptions {
  /**
   * The longest wait for the reservation, in ms, 0 or more.
   * @default 60_000
   */
  maxWaitMs?: number;
  /** Ends the wait; the reservation is given back. What runs already has to watch it by itself. */
  signal?: AbortSignal;
}

/** What the work says of its cost. */
export interface BudgetHold {
  /**
   * What was used in the end; the last word counts. Never said: all that was reserved.
   *
   * @param tokens 0 or more
   * @param policy whose charge it is about; default: the last one of the list
   * @throws InvalidCostError
   */
  used(tokens: number, policy?: string): void;
}

/** Waits for the reserved moment, runs, and settles, whatever happens. */
export async function spend<T>(
  charges: readonly PreparedCharge[],
  reserved: CombinedReservation,
  clock: Scheduler,
  signal: AbortSignal | undefined,
  fn: (hold: BudgetHold) => T | Promise<T>,
): Promise<Awaited<T>> {
  if (!reserved.allowed) {
    const { policy, retryAfterMs } = reserved.binding;
    throw new WaitTooLongError(
      `withBudget: policy "${policy}" has room in ${retryAfterMs} ms only: raise maxWaitMs, or come back then`,
      retryAfterMs,
    );
  }
  try {
    if (reserved.delayMs > 0) await sleep(clock, reserved.delayMs, signal);
    else signal?.throwIfAborted();
  } catch (error) {
    await reserved.cancel();
    throw error;
  }
  const costs = charges.map(({ cost }) => cost);
  const settle = async () => {
    try {
      await reserved.settle(costs);
    } catch (error) {
      // What the work gave is worth more than the difference, which the store's events tell of.
      if (!StoreUnavailableError.is(error)) throw error;
    }
  };
  let result: Awaited<T>;
  try {
    result = await fn({
      used(tokens, policy) {
        const at =
          policy === undefined
            ? charges.length - 1
            : charges.findIndex(({ scoped }) => scoped.policy.name === policy);
        if (at < 0) {
          throw new InvalidCostError(`used: no charge of this call is of policy ${shown(policy)}`);
        }
        creditsOf(tokens, charges[at].scoped.policy.limit, 'used:');
        costs[at] = tokens;
      },
    });
  } catch (error) {
    await settle().catch(() => undefined);
    throw error;
  }
  await settle();
  return result;
}
