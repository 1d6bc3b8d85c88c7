// Tells what a 500 keeps from the client. An error that comes with every request is not told every time.
import { Logger } from '@nestjs/common';
import { systemClock } from '../core/clock';
import { RateLimitError, StoreConfigurationError } from '../core/errors';

const QUIET_MS = 10_000;
/** The key in what Redis was asked: each request has another one. */
const KEY_OF_CALL = /\((\w+) [^]*\)/;
const MOST_KINDS = 100;

/** The log of errors that are ours or the application's to mend. */
export class ErrorLog {
  readonly #logger = new Logger('RateLimitModule');
  /** By kind; of refusals of the store when they were last seen, of others when they were last told. */
  readonly #notedAtMs = new Map<string, number>();

  /**
   * Our own errors at most once in ten seconds each kind; what the store refuses us once, until it has not been heard
   * of for ten seconds; any other each time.
   */
  report(error: unknown): void {
    if (RateLimitError.is(error) && this.#isKnown(error)) return;
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    this.#logger.error(message, stack);
  }

  #isKnown(error: RateLimitError): boolean {
    const isRefusal = StoreConfigurationError.is(error);
    const kind = isRefusal ? error.message.replace(KEY_OF_CALL, '($1)') : error.code;
    const nowMs = systemClock.monotonicMs();
    const isKnown = nowMs - (this.#notedAtMs.get(kind) ?? -Infinity) < QUIET_MS;
    if (!isKnown && this.#notedAtMs.size >= MOST_KINDS) this.#notedAtMs.clear();
    if (!isKnown || isRefusal) this.#notedAtMs.set(kind, nowMs);
    return isKnown;
  }
}
