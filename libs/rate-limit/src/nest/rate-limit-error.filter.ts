// Writes the answers of the limiter: refusals, and its errors that escape a handler.
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
import { PROBLEM_HEADERS } from '../http/problem-body';
import { ErrorLog } from './error-log';
import { httpAnswer } from './http-answer';
import { ProblemException } from './problem.exception';
import { setHeaders } from './transports/http-caller';

/** Bound by the module. Any filter of the application that catches the same comes before it. */
@Catch(RateLimitError, ProblemException)
@Injectable()
export class RateLimitErrorFilter implements ExceptionFilter<RateLimitError | ProblemException> {
  constructor(
    @Inject(HttpAdapterHost) private readonly adapterHost: HttpAdapterHost,
    @Inject(ErrorLog) private readonly errors: ErrorLog,
  ) {}

  catch(error: RateLimitError | ProblemException, host: ArgumentsHost): unknown {
    const transport = host.getType<string>();
    if (transport === 'rpc') return throwError(() => error);
    if (transport !== 'http') throw error;
    const { exception, headers } = httpAnswer(error);
    if (exception.getStatus() === 500) this.errors.report(error);
    const response = host.getArgByIndex<unknown>(1);
    setHeaders(response, headers);
    const { httpAdapter } = this.adapterHost;
    if (!(exception instanceof ProblemException) || httpAdapter.isHeadersSent(response)) {
      return new BaseExceptionFilter(httpAdapter).catch(exception, host);
    }
    setHeaders(response, PROBLEM_HEADERS);
    // As text: for an object, adapters before Nest 12 put application/json in place of the type.
    return httpAdapter.reply(
      response,
      JSON.stringify(exception.getResponse()),
      exception.getStatus(),
    ) as unknown;
  }
}
