// Records concurrency limits on classes and methods, and brings what enforces them. Checks nothing: that is done at
// start-up, for all at once.
import 'reflect-metadata';
import { UseInterceptors } from '@nestjs/common';
import { ConcurrencyInterceptor } from './concurrency.interceptor';
import { CONCURRENCY_METADATA } from './rate-limit.constants';
import type { ConcurrencyLimitOptions } from './rate-limit.options';
import { recordingDecorator, type Recording } from './recording';

/**
 * Lets at most `max` requests of a key be in flight at once, over all instances; one more is answered with 429 and
 * `Retry-After`.
 *
 * A request holds its slot until its answer has ended (streams and server-sent events to their last byte) and its
 * handler has; when the client leaves before the handler is through, for one more lease at most. Refused further on,
 * by a rate limit or another guard, it gives the slot back. A `RateLimitGuard` that reaches the handler takes the
 * slot before it charges anything; without one the decorator takes it itself, after all guards.
 *
 * May stand several times on one target with different names; those of class and method add up, and a method's
 * replaces its class's of the same name.
 */
export function ConcurrencyLimit(options: ConcurrencyLimitOptions): Recording {
  const record = recordingDecorator(CONCURRENCY_METADATA, [options]) as MethodDecorator;
  const enforce = UseInterceptors(ConcurrencyInterceptor) as MethodDecorator;
  const limit: MethodDecorator = (target, method, descriptor) => {
    record(target, method, descriptor);
    enforce(target, method, descriptor);
  };
  return limit as Recording;
}
