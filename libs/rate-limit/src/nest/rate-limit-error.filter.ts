// Answers errors of the limiter that escape a handler, as a guard would have.
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  Inject,
  Injectable,
} from '@nestjs/common';
import { BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import { throwError } from 'rxjs';
import { RateLimitError } from '../core/errors';
import { ErrorLog } from './error-log';
import { httpAnswer } from './http-answer';
import { setHeaders } from './transports/http-caller';

/** Bound by the module. Any filter of the application that catches the same error comes before it. */
@Catch(RateLimitError)
@Injectable()
export class RateLimitErrorFilter implements ExceptionFilter<RateLimitError> {
  constructor(
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
    @Inject(ErrorLog) private readonly errors: ErrorLog,
  ) {}

  catch(error: RateLimitError, host: ArgumentsHost): unknown {
    const transport = host.getType<string>();
    if (transport === 'rpc') return throwError(() => error);
    if (transport !== 'http') throw error;
    const { exception, headers } = httpAnswer(error);
    if (exception.getStatus() === 500) this.errors.report(error);
    setHeaders(host.getArgByIndex<unknown>(1), headers);
    return new BaseExceptionFilter(this.adapterHost.httpAdapter).catch(exception, host);
  }
}
