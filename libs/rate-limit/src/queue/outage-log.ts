// Says once that Redis is away or refuses us, and once that it answers again: not once a command.
import { type Clock, systemClock } from '../core/clock';
import { StoreConfigurationError, StoreUnavailableError } from '../core/errors';
import { storeError } from '../store/redis/redis-errors';

/** A logger as far as it is used here. */
export interface OutageLogger {
  error(message: string): void;
  log(message: string): void;
}

/** An answer counts as the end of an outage after so long without an error: connections come back one by one. */
const SETTLED_MS = 1000;
/** A refusal that was not seen for so long is told again. */
const FORGOTTEN_MS = 60_000;
const MOST_REFUSALS = 100;
/** Messages of clients whose connection is away. */
const AWAY =
  /ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOST|ENET|ETIMEDOUT|Connection is closed|isn't writeable|Socket closed|max retries per request|Command timed out/i;

/** Logs errors; those of one outage once, and the same refusal once. */
export class OutageLog {
  #lastAwayMs: number | undefined;
  /** Refusals by their text, and when they were seen last. */
  readonly #refusals = new Map<string, number>();

  constructor(
    private readonly logger: OutageLogger,
    private readonly clock: Pick<Clock, 'monotonicMs'> = systemClock,
  ) {}

  error(error: unknown): void {
    const message = error instanceof Error ? error.message || codeOf(error) : String(error);
    if (isAway(error, message)) {
      if (this.#lastAwayMs === undefined) this.logger.error(`Redis is away: ${message}`);
      this.#lastAwayMs = this.clock.monotonicMs();
      return;
    }
    const refusal = refusalOf(error);
    if (refusal === undefined) this.logger.error(message);
    else this.#refused(refusal);
  }

  /** Redis did what it was asked. */
  answered(): void {
    if (this.#lastAwayMs === undefined) return;
    if (this.clock.monotonicMs() - this.#lastAwayMs < SETTLED_MS) return;
    this.#lastAwayMs = undefined;
    this.logger.log('Redis answers again');
  }

  #refused(message: string): void {
    const nowMs = this.clock.monotonicMs();
    const seenMs = this.#refusals.get(message);
    if (seenMs === undefined || nowMs - seenMs > FORGOTTEN_MS) this.logger.error(message);
    this.#refusals.delete(message);
    this.#refusals.set(message, nowMs);
    if (this.#refusals.size > MOST_REFUSALS) {
      this.#refusals.delete(this.#refusals.keys().next().value as string);
    }
  }
}

function isAway(error: unknown, message: string): boolean {
  if (error instanceof StoreConfigurationError) return false;
  if (error instanceof StoreUnavailableError || AWAY.test(`${message} ${codeOf(error)}`))
    return true;
  return isReply(error) && storeError(error) instanceof StoreUnavailableError;
}

/** What Redis will not do for us, whoever asked. */
function refusalOf(error: unknown): string | undefined {
  if (error instanceof StoreConfigurationError) return error.message;
  return isReply(error) ? storeError(error).message : undefined;
}

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
