// The seam of deferring: what nest-rate-limit/queue provides, and how the guard and the wrapped handler meet. The main
// entry knows no queue.
import type { ExecutionContext } from '@nestjs/common';
import type { Caller } from '../http/caller';
import type { CallCharge } from './call-charges';
import type { Plan, PlannedVariant } from './plan';
import type { DeferTo } from './rate-limit.options';

/** Provided in any module of the application: takes calls that became jobs. */
export const DEFERRALS = Symbol.for('nest-rate-limit:deferrals');

/** What {@link DEFERRALS} provides. */
export interface Deferrals {
  /**
   * Checks at start-up that a handler can be deferred.
   * @throws InvalidLimitError, UnsupportedOperationError naming the handler
   */
  check(plan: Plan, variant: PlannedVariant, to: DeferTo): void;
}

/** A call of a handler with a limit that defers, after the guard let it through. */
export interface DeferrableCall {
  readonly caller: Caller;
  readonly to: DeferTo;
  readonly charge: CallCharge;
  /** The charge was refused: the call is to become a job, which pays. Else it was charged. */
  readonly deferred: boolean;
  readonly deferrals: Deferrals;
  /** To be called when it became a job. */
  readonly tell: () => void;
}

/** By request: the wrapped handler gets no context of its own, but its parameters are made from the request. */
const calls = new WeakMap<object, { readonly handler: object; readonly call: DeferrableCall }>();

/** Leaves a call for its handler. */
export function leaveCall(context: ExecutionContext, call: DeferrableCall): void {
  calls.set(context.getArgByIndex<object>(0), { handler: context.getHandler(), call });
}

/** What the guard left for this handler; `undefined` where no guard looked at the call. */
export function leftCall(context: ExecutionContext): DeferrableCall | undefined {
  const left = calls.get(context.getArgByIndex<object>(0));
  return left?.handler === context.getHandler() ? left.call : undefined;
}
