// The guard: a thin door to the request limiter.
import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type Type,
} from '@nestjs/common';
import { InvalidLimitError } from '../core/errors';
import { RequestLimiter } from './request-limiter';

/**
 * Limits the handlers that it guards. Bound several times (APP_GUARD, class, method, a subclass), it
 * charges once. Answers at once when the store, the resolvers and the cost functions do.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  /** Names of the limits that guards of this class charge; `undefined`: all. @internal */
  static readonly charges: ReadonlySet<string> | undefined = undefined;

  constructor(@Inject(RequestLimiter) protected readonly requests: RequestLimiter) {}

  /**
   * A guard that charges only the limits of these names here; a plain guard later charges the rest.
   * For what must come before authentication: `RateLimitGuard.only('ip')`.
   */
  static only(...names: string[]): Type<RateLimitGuard> {
    if (names.length === 0) {
      throw new InvalidLimitError('RateLimitGuard.only(): give at least one name of a limit');
    }
    const chosen: ReadonlySet<string> = new Set(names);
    @Injectable()
    class NamedRateLimitGuard extends RateLimitGuard {
      static override readonly charges = chosen;

      constructor(@Inject(RequestLimiter) requests: RequestLimiter) {
        super(requests);
        requests.expect(names);
      }

      override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
        return this.requests.limit(context, chosen);
      }
    }
    return NamedRateLimitGuard;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.requests.limit(context);
  }
}
