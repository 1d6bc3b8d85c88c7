// Pure: whether the shared store is worth asking.

/** Consecutive failures after which the store counts as out. One lost answer is not an outage. */
const FAILURES_TO_OPEN = 3;

/** A circuit breaker. Closed: ask the store. Open: don't, until a probe succeeded. */
export class Breaker {
  #failures = 0;

  get isOpen(): boolean {
    return this.#failures >= FAILURES_TO_OPEN;
  }

  /** Returns true when this success ended an outage. */
  succeeded(): boolean {
    const ended = this.isOpen;
    this.#failures = 0;
    return ended;
  }

  /** Returns true when this failure began an outage. */
  failed(): boolean {
    this.#failures++;
    return this.#failures === FAILURES_TO_OPEN;
  }
}
