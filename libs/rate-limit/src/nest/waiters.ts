// Calls that are held until their moment: how many, how long, and what ends a wait early.
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import type { Scheduler } from '../core/clock';
import { LimiterClosedError, TooManyWaitersError } from '../core/errors';
import { SCHEDULER } from './rate-limit.constants';

/** Calls of this process that wait at once: each holds a request, its connection and its memory. */
const MOST_WAITERS = 1000;

/** Ends a wait from outside: calls `end` when it is to end, until the returned function is called. */
export type Interruption = (end: (reason: Error) => void) => () => void;

/** The calls of this process that wait. */
@Injectable()
export class Waiters implements BeforeApplicationShutdown {
  readonly #waits = new Set<(reason: Error) => void>();
  #closed = false;

  constructor(@Inject(SCHEDULER) private readonly clock: Scheduler) {}

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
      let callOff: (() => void) | undefined;
      let stopListening: (() => void) | undefined = undefined;
      const leave = () => {
        callOff?.();
        stopListening?.();
        this.#waits.delete(end);
      };
      const end = (reason: Error) => {
        leave();
        reject(reason);
      };
      const begin = () => {
        leave();
        resolve();
      };
      this.#waits.add(end);
      let interrupted = false;
      stopListening = interruption((reason) => {
        interrupted = true;
        end(reason);
      });
      if (interrupted) stopListening();
      else if (ms > 0) callOff = this.clock.after(ms, begin);
      else begin();
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
