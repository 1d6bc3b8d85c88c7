// Waiting for jobs to end, on the clock of the test.
import type { Scheduler } from '../../core/clock';
import { LimiterClosedError } from '../../core/errors';
import { valueOf, type JobEnding } from '../../queue/ending';
import { ResultTimeoutError } from '../../queue/queue-errors';

interface Waiter {
  readonly ended: (ending: JobEnding) => void;
  readonly fail: (error: unknown) => void;
}

/** Those who wait for the jobs of a queue. */
export class InProcessResults {
  readonly #waiters = new Map<string, Set<Waiter>>();

  constructor(private readonly clock: Scheduler) {}

  /**
   * The value of a job that has not ended.
   * @throws ResultTimeoutError, JobFailedError, JobExpiredError, JobCancelledError, or the signal's reason
   */
  async wait(id: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<unknown> {
    let ended!: Waiter['ended'];
    let fail!: Waiter['fail'];
    const ending = new Promise<JobEnding>((...settle) => ([ended, fail] = settle));
    const waiter = { ended, fail };
    const waiters = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, waiters.add(waiter));
    const callOff = this.clock.after(timeoutMs, () =>
      fail(new ResultTimeoutError(`job ${id} has not ended within ${timeoutMs} ms`)),
    );
    const abort = () => fail(signal?.reason);
    signal?.addEventListener('abort', abort);
    try {
      return valueOf(id, await ending);
    } finally {
      callOff();
      signal?.removeEventListener('abort', abort);
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiters.delete(id);
    }
  }

  tell(id: string, ending: JobEnding): void {
    for (const { ended } of this.#waiters.get(id) ?? []) ended(ending);
  }

  /** Ends all waits. */
  close(): void {
    for (const [id, waiters] of this.#waiters) {
      const closed = new LimiterClosedError(`job ${id}: the queue was closed while waiting for it`);
      for (const { fail } of waiters) fail(closed);
    }
  }
}
