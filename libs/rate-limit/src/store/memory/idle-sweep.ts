// Goes on forgetting when nobody calls: what a flood left behind would stay until the next one.

import { ownTimer } from '../../core/own-timer';

/** Fewer are not worth a timer. */
const WORTHWHILE = 10_000;
/** A chunk takes about a millisecond. */
const CHUNK = 5000;
const BETWEEN_CHUNKS_MS = 50;
const BETWEEN_ROUNDS_MS = 1000;

/** What is swept. */
export interface Swept {
  readonly size: number;
  /** Forgets what it can of the next `count`. True: that was the last of a round. */
  sweep(count: number): boolean;
}

/** One timer for a large store, none for a small one. Keeps neither the process nor the store alive. */
export class IdleSweep {
  #timer: NodeJS.Timeout | undefined;

  /** Call it when something was added. */
  watch(swept: Swept): void {
    if (this.#timer === undefined && swept.size > WORTHWHILE) {
      this.#arm(new WeakRef(swept), BETWEEN_ROUNDS_MS);
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(weak: WeakRef<Swept>, ms: number): void {
    this.#timer = ownTimer(() => {
      this.#timer = undefined;
      const swept = weak.deref();
      if (swept === undefined) return;
      const wasRound = swept.sweep(CHUNK);
      if (swept.size > WORTHWHILE) {
        this.#arm(weak, wasRound ? BETWEEN_ROUNDS_MS : BETWEEN_CHUNKS_MS);
      }
    }, ms);
  }
}
