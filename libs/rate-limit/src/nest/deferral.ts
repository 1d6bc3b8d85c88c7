// The seam of deferring: what nest-rate-limit/queue provides, and how the guard and the wrapped handler meet. The main
// entry knows no queue.
import type { ParsedLimit } from '../core/limit';
import type { Caller } from '../http/caller';
import type { CallCharge } from './call-charges';
import type { HandlerParameters } from './handler-parameters';
import type { Plan } from './plan';
import type { DeferTo, RateLimitModuleOptions } from './rate-limit.options';

/** Provided in any module of the application: takes calls that became jobs. */
export const DEFERRALS = Symbol.for('nest-rate-limit:deferrals');

/** What {@link DEFERRALS} provides. */
export interface Deferrals {
  /**
   * Checks at start-up that a handler can be deferred.
   * @param module the options of the module that limits it
   * @throws InvalidLimitError, UnsupportedOperationError naming the handler
   */
  check(plan: Plan, to: DeferTo, module: RateLimitModuleOptions): void;
  /**
   * Answers a call: by its handler, or by the job that it became.
   * @param args the handler's, after the pipes
   */
  answer(
    call: DeferrableCall,
    parameters: HandlerParameters,
    args: readonly unknown[],
    handle: () => unknown,
  ): unknown;
}

/** A call of a handler with a limit that defers, after the guard let it through. */
export interface DeferrableCall {
  readonly caller: Caller;
  readonly to: DeferTo;
  readonly charge: CallCharge;
  /** What decided: the charge's own limit, or the one configured for the caller. */
  readonly limit: ParsedLimit;
  /** The charge was refused: the call is to become a job, which pays. Else it was charged. */
  readonly deferred: boolean;
  readonly deferrals: Deferrals;
  /** To be called when it became a job. */
  readonly tell: () => void;
}

/** By request: the wrapped handler gets no context, but its parameters are made from the request. */
const calls = new WeakMap<object, DeferrableCall>();

/** Leaves a call for its handler. */
export function leaveCall(request: object, call: DeferrableCall): void {
  calls.set(request, call);
}

/** What the guard left for the handler of a request, once; `undefined` where no guard looked at it. */
export function takeCall(request: unknown): DeferrableCall | undefined {
  if (typeof request !== 'object' || request === null) return undefined;
  const call = calls.get(request);
  calls.delete(request);
  return call;
}
