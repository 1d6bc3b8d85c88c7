// Tells the call of a request when its handler starts and ends: a client that left does not end the work.
import type { CallHandler, ExecutionContext } from '@nestjs/common';
import { defer, finalize, type Observable } from 'rxjs';
import { callInFlight } from './call-in-flight';

/** Calls the handler of an HTTP request, and what lies around it further in. */
export function runningHandler(context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const [request, response] = context.getArgs<[object, unknown]>();
  return defer(() => {
    const ended = callInFlight(request, response).handlerStarts();
    return next.handle().pipe(finalize(ended));
  });
}
