// Stands where @ConcurrencyLimit stands: takes the slots that no guard took, and tells when the handler has ended.
import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { callInFlight } from './call-in-flight';
import { clientIsGone } from './client-gone';
import { RequestLimiter } from './request-limiter';
import { runningHandler } from './running-handler';

/** Bound by `@ConcurrencyLimit`; bound twice, it does its work once. */
@Injectable()
export class ConcurrencyInterceptor implements NestInterceptor {
  constructor(@Inject(RequestLimiter) private readonly requests: RequestLimiter) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.requests.holdSlots(context);
    if (context.getType() !== 'http') return next.handle();
    const [request, response] = context.getArgs<[object, unknown]>();
    // A client that left while guards and stores were asked took its slots along: what starts now would be one too many.
    if (callInFlight(request, response).isOver) throw clientIsGone();
    return runningHandler(context, next);
  }
}
