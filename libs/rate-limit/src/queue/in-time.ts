// Bounds how long a caller waits for Redis.
import { StoreTimeoutError } from '../core/errors';
import { Deadlines } from '../store/resilient/deadlines';
import { storeError } from '../store/redis/redis-errors';

/** Calls of one queue that need Redis: each ends within the same time. */
export class InTime {
  readonly #deadlines: Deadlines;

  /** @param connected Redis was there for the first time; a call before that waits for it, within its time */
  constructor(
    private readonly queue: string,
    private readonly timeoutMs: number,
    private readonly connected: Promise<void>,
  ) {
    this.#deadlines = new Deadlines(timeoutMs);
  }

  /**
   * @param call is told whether its caller was told that it took too long
   * @throws StoreUnavailableError, StoreTimeoutError, StoreConfigurationError
   */
  call<T>(call: (gone: () => boolean) => Promise<T>): Promise<T> {
    let gone = false;
    const made = this.connected
      .then(() => call(() => gone))
      .catch((error: unknown) => {
        throw storeError(error);
      });
    return this.#deadlines.bound(made, () => {
      gone = true;
      return new StoreTimeoutError(
        `queue ${this.queue}: Redis did not answer within ${this.timeoutMs} ms`,
      );
    });
  }

  close(): void {
    this.#deadlines.close();
  }
}
