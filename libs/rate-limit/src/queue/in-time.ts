// Bounds how long a caller waits for Redis.
import { LimiterClosedError, StoreTimeoutError } from '../core/errors';
import { Deadlines } from '../store/resilient/deadlines';
import { storeError } from '../store/redis/redis-errors';

/** Calls of one queue that need Redis: each ends within the same time. */
export class InTime {
  readonly #deadlines: Deadlines;
  #closed = false;

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
   * @throws StoreUnavailableError, StoreTimeoutError, StoreConfigurationError, LimiterClosedError
   */
  async call<T>(call: (gone: () => boolean) => Promise<T>): Promise<T> {
    if (this.#closed) throw new LimiterClosedError(`queue ${this.queue} is closed`);
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
    this.#closed = true;
    this.#deadlines.close();
  }
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
