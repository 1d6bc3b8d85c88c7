// Says once that Redis is away, not once a command.
import { StoreUnavailableError } from '../core/errors';

/** A logger as far as it is used here. */
export interface ErrorLogger {
  error(message: string): void;
}

/** An outage that was quiet for this long is over. */
const QUIET_MS = 5000;
/** Messages of clients whose connection is away. */
const AWAY = /ECONN|EPIPE|ENOTFOUND|ETIMEDOUT|Connection is closed|isn't writeable|Socket closed/;

/** Logs errors; those of one outage once. */
export class OutageLog {
  #quietFrom: NodeJS.Timeout | undefined;

  constructor(private readonly logger: ErrorLogger) {}

  error(error: unknown): void {
    const message = error instanceof Error ? error.message || error.name : String(error);
    if (!(error instanceof StoreUnavailableError) && !AWAY.test(`${message} ${codeOf(error)}`)) {
      this.logger.error(message);
      return;
    }
    if (this.#quietFrom === undefined) this.logger.error(`Redis is away: ${message}`);
    clearTimeout(this.#quietFrom);
    this.#quietFrom = setTimeout(() => (this.#quietFrom = undefined), QUIET_MS).unref();
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
