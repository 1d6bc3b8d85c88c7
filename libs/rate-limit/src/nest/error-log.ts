// Tells what a 500 keeps from the client. An error that comes with every request is not told every time.
import { Logger } from '@nestjs/common';
import { systemClock } from '../core/clock';
import { RateLimitError } from '../core/errors';

const QUIET_MS = 10_000;

/** The log of errors that are ours or the application's to mend. */
export class ErrorLog {
  readonly #logger = new Logger('RateLimitModule');
  readonly #toldAtMs = new Map<string, number>();

  /** Our own errors at most once in ten seconds each kind, any other each time. */
  report(error: unknown): void {
    if (RateLimitError.is(error)) {
      const nowMs = systemClock.monotonicMs();
      if (nowMs - (this.#toldAtMs.get(error.code) ?? -Infinity) < QUIET_MS) return;
      this.#toldAtMs.set(error.code, nowMs);
    }
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    this.#logger.error(message, stack);
  }
}
