// What time it is on the server, as far as its replies tell. Pure: is told every time it knows.

/**
 * An estimate of the server's clock against our monotonic one. A reply bounds the difference from
 * both sides: the server read its clock after we sent and before we received. Of all values within
 * the bounds the one nearest to the old estimate is kept, so a slow reply, or one that we read late,
 * does not spoil it, and a step of the server's clock is followed at once.
 *
 * Until the first reply the guess is taken.
 */
export class ServerClock {
  #offsetMs: number;

  /** @param guessMs server time minus our monotonic time */
  constructor(guessMs: number) {
    this.#offsetMs = guessMs;
  }

  /** The server's time at one of our moments. */
  at(monotonicMs: number): number {
    return monotonicMs + this.#offsetMs;
  }

  /** The server read whole milliseconds `serverMs` between our `sentMs` and `receivedMs`. */
  read(serverMs: number, sentMs: number, receivedMs: number): void {
    const least = serverMs - receivedMs;
    const most = serverMs + 1 - sentMs;
    this.#offsetMs = Math.min(most, Math.max(least, this.#offsetMs));
  }
}
