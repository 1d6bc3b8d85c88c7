// Bounds how long a caller waits for Redis.
import { LimiterClosedError, type RateLimitError, StoreTimeoutError } from '../core/errors';
import { Deadlines } from '../store/deadlines';
import { isConfigurationError, storeError } from '../store/redis/redis-errors';

/** What calls are bounded with. */
export interface InTimeParts {
  readonly queue: string;
  readonly timeoutMs: number;
  /** Redis was there for the first time; a call before that waits for it, within its time. */
  readonly connected: Promise<void>;
  /** Why there is no connection, in the words of the last attempt. */
  readonly trouble: () => Error | undefined;
  /** Told of outages and refusals that a caller met. */
  readonly onError: (error: unknown) => void;
  /** Told that Redis did what a caller asked. */
  readonly onAnswer: () => void;
}

/** Calls of one queue that need Redis: each ends within the same time. */
export class InTime {
  readonly #parts: InTimeParts;
  readonly #deadlines: Deadlines;
  #closed = false;

  constructor(parts: InTimeParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.timeoutMs);
  }

  get timeoutMs(): number {
    return this.#parts.timeoutMs;
  }

  /**
   * @param call is told whether its caller was told that it took too long
   * @throws StoreUnavailableError, StoreTimeoutError, StoreConfigurationError, LimiterClosedError
   */
  async call<T>(call: (gone: () => boolean) => Promise<T>): Promise<T> {
    const { queue, connected, onAnswer, onError } = this.#parts;
    if (this.#closed) throw new LimiterClosedError(`queue ${queue} is closed`);
    let gone = false;
    const made = connected
      .then(() => call(() => gone))
      .then(
        (value) => {
          onAnswer();
          return value;
        },
        (error: unknown) => {
          // What Redis did not do, and not what it refused a caller for a reason of the queue's own.
          const failed = storeError(error);
          if (failed !== error || isStoreError(failed)) onError(failed);
          throw failed;
        },
      );
    return this.#deadlines.bound(made, () => {
      gone = true;
      const late = this.#late();
      if (!this.#closed) onError(late);
      return late;
    });
  }

  close(): void {
    this.#closed = true;
    this.#deadlines.close();
  }

  #late(): RateLimitError {
    const { queue, timeoutMs, trouble } = this.#parts;
    const cause = trouble();
    if (isConfigurationError(cause)) return storeError(cause);
    const why = cause === undefined ? '' : `: ${cause.message}`;
    return new StoreTimeoutError(
      `queue ${queue}: Redis did not answer within ${timeoutMs} ms${why}`,
      { cause },
    );
  }
}

function isStoreError({ code }: RateLimitError): boolean {
  return code.startsWith('RATE_LIMIT_STORE_');
}

/** Waits for a call, at most `ms`; says whether it ended. @throws what the call throws in that time */
export async function endsWithin(call: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const ended = await Promise.race([call.then(() => true), late]);
  clearTimeout(timer);
  return ended;
}
