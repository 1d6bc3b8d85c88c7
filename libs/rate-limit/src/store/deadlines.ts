// One timer for many waits of one length. Knows nothing of stores.
import { ownTimer } from '../core/own-timer';
import { systemClock } from '../core/clock';

interface Wait {
  readonly endsAtMs: number;
  settled: boolean;
  readonly expire: () => void;
}

/**
 * Bounds how long promises are waited for. All waits are equally long, so the oldest ends first and
 * one timer serves them all, however many there are. The timer never keeps a process alive.
 */
export class Deadlines {
  readonly #timeoutMs: number;
  /** Oldest first; those before `#head` are done. */
  #waits: Wait[] = [];
  #head = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The value of `promise`, or the error of `expired` when that takes longer than the time-out. A
   * stall of our own event loop is not the promise's fault: answers that have arrived by then win.
   */
  bound<T>(promise: Promise<T>, expired: () => Error): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const wait: Wait = {
        endsAtMs: systemClock.monotonicMs() + this.#timeoutMs,
        settled: false,
        expire: () => reject(expired()),
      };
      this.#waits.push(wait);
      this.#timer ??= this.#arm(this.#timeoutMs);
      promise.then(
        (value) => {
          this.#settle(wait);
          resolve(value);
        },
        (error: unknown) => {
          this.#settle(wait);
          reject(error as Error);
        },
      );
    });
  }

  /** Ends all waits that are still open, as if their time were up, and the timer with them. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const open = this.#waits.slice(this.#head).filter((wait) => !wait.settled);
    this.#waits = [];
    this.#head = 0;
    for (const wait of open) {
      wait.settled = true;
      wait.expire();
    }
  }

  #settle(wait: Wait): void {
    wait.settled = true;
    while (this.#head < this.#waits.length && this.#waits[this.#head].settled) this.#head++;
    if (this.#head === this.#waits.length) {
      this.#waits.length = 0;
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#waits.length) {
      this.#waits = this.#waits.slice(this.#head);
      this.#head = 0;
    }
  }

  #arm(ms: number): NodeJS.Timeout {
    // Timers run before sockets are read: one turn of the loop lets answers in that came in time.
    return ownTimer(() => setImmediate(() => this.#sweep()), Math.ceil(ms));
  }

  #sweep(): void {
    if (this.#timer === undefined) return;
    this.#timer = undefined;
    const nowMs = systemClock.monotonicMs();
    for (let at = this.#head; at < this.#waits.length; at++) {
      const wait = this.#waits[at];
      if (wait.settled) continue;
      if (wait.endsAtMs > nowMs) {
        this.#timer = this.#arm(wait.endsAtMs - nowMs);
        return;
      }
      this.#settle(wait);
      at = this.#head - 1;
      wait.expire();
    }
  }
}
