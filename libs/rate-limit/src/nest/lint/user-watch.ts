// Says once that a limit by user has never seen a user: authentication runs too late, or puts the user elsewhere.
import { Logger } from '@nestjs/common';
import type { Caller } from '../../http/caller';
import type { PlannedVariant } from '../plan';
import type { KeyResolver } from '../rate-limit.options';
import { isByUser } from './function-source';

/** So many calls, and nobody logged in, are no coincidence. */
const NO_COINCIDENCE = 100;

/** Watches the calls of limits by user, until each has seen one or something was said. */
export class UserWatch {
  /** Calls without a user, by resolver; `undefined`: nothing to watch. */
  readonly #calls = new WeakMap<KeyResolver, number | undefined>();

  look(caller: Caller, { key, scoped: { policy } }: PlannedVariant): void {
    const calls = this.#calls.has(key) ? this.#calls.get(key) : this.#start(key);
    if (calls === undefined) return;
    const isOver = caller.user !== undefined && caller.user !== null;
    this.#calls.set(key, isOver || calls + 1 === NO_COINCIDENCE ? undefined : calls + 1);
    if (isOver || calls + 1 < NO_COINCIDENCE) return;
    new Logger('RateLimitGuard').warn(
      `policy "${policy.name}" is by the user, and of its first ${NO_COINCIDENCE} calls not one had one: authenticate before RateLimitGuard runs, and put the user into request.user`,
    );
  }

  #start(key: KeyResolver): number | undefined {
    const calls = isByUser(key) ? 0 : undefined;
    this.#calls.set(key, calls);
    return calls;
  }
}
