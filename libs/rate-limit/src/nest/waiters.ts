// Calls that are held until their moment: how many, how long, and what ends a wait early.
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { systemClock } from '../core/clock';
import { LimiterClosedError, TooManyWaitersError } from '../core/errors';

/** Calls of this process that wait at once: each holds a request, its connection and its memory. */
const MOST_WAITERS = 1000;
/** Node's timers count 32 bits. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Ends a wait from outside: calls `end` when it is to end, until the returned function is called. */
export type Interruption = (end: (reason: Error) => void) => () => void;

/** The calls of this process that wait. */
@Injectable()
export class Waiters implements BeforeApplicationShutdown {
  readonly #waits = new Set<(reason: Error) => void>();
  #closed = false;

  /** @throws TooManyWaitersError, LimiterClosedError when one more may not wait */
  checkRoom(): void {
    if (this.#closed) throw closedError();
    if (this.#waits.size < MOST_WAITERS) return;
    throw new TooManyWaitersError(
      `${MOST_WAITERS} calls wait for their moment in this process already`,
    );
  }

  /**
   * Waits for at least `ms`, however the timers of the process fire.
   *
   * @throws TooManyWaitersError, LimiterClosedError; or what `interruption` ends it with
   */
  wait(ms: number, interruption: Interruption): Promise<void> {
    this.checkRoom();
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const endsAtMs = systemClock.monotonicMs() + ms;
      const leave = () => {
        clearTimeout(timer);
        stopListening?.();
        this.#waits.delete(end);
      };
      const end = (reason: Error) => {
        leave();
        reject(reason);
      };
      const look = () => {
        // Timers fire up to a millisecond early.
        const leftMs = endsAtMs - systemClock.monotonicMs();
        if (leftMs > 0) {
          timer = setTimeout(look, Math.min(LONGEST_TIMER_MS, Math.ceil(leftMs))).unref();
          return;
        }
        leave();
        resolve();
      };
      this.#waits.add(end);
      let stopListening: (() => void) | undefined = undefined;
      let interrupted = false;
      stopListening = interruption((reason) => {
        interrupted = true;
        end(reason);
      });
      if (interrupted) stopListening();
      else look();
    });
  }

  /** Before the server waits for open requests: those that are held here would keep it. */
  beforeApplicationShutdown(): void {
    this.#closed = true;
    for (const end of this.#waits) end(closedError());
  }
}

function closedError(): LimiterClosedError {
  return new LimiterClosedError('the application is closing');
}
