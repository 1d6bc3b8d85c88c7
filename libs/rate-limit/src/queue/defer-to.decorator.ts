// deferTo: what a limit names when its refusals are to become jobs.
import type { Caller } from '../http/caller';
import type { MaybePromise } from '../http/maybe-promise';
import { makeDeferrable } from '../nest/deferrable-handler';
import type { DeferTo } from '../nest/rate-limit.options';

/** Options of {@link deferTo}. */
export interface DeferToOptions {
  /**
   * The job's data, from the caller and the handler's arguments after the pipes. Must be JSON; may
   * answer by a promise. The handler itself is not called for a deferred call.
   * @default { body }: the body as the handler would get it
   */
  // A handler's parameters have types of their own, which `unknown` would forbid to name.
  // oxlint-disable-next-line typescript/no-explicit-any
  payload?: (caller: Caller, ...args: any[]) => MaybePromise<unknown>;
}

/** What {@link deferTo} makes. */
export interface QueueDeferTo extends DeferTo {
  readonly options: DeferToOptions;
}

/**
 * For `onLimit` of a `@RateLimit` on an HTTP route or its class: while tokens last the handler runs at
 * once; after that the call becomes a job of this queue, paced by the route's own bucket, and is
 * answered with `202 Accepted`, `Location`, `Retry-After` and `{ id, state, startsAt, position,
 * statusUrl }`. It is submitted after the pipes, so what they refuse costs nothing.
 *
 * An `Idempotency-Key` header is honoured for each caller: the same key gives the same job, with
 * another payload 409. Calls that ran at once are not remembered.
 *
 * A queue that is full is answered with 429 (the caller's line) or 503 (the whole queue), Redis that
 * is away with 503. What cannot be served so is found at start-up: an unknown queue, and handlers that
 * answer by themselves (`@Res()`), stream, render, redirect or are no HTTP routes.
 *
 * @param queue name of a registered queue; it needs no numbers of its own
 */
export function deferTo(queue: string, options: DeferToOptions = {}): DeferTo {
  const to: QueueDeferTo = { queue, options, wrap: makeDeferrable };
  return to;
}
