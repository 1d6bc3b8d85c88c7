// Bounds how many calls of this process are under way at once; the others wait here, in order.

interface Waiting {
  readonly go: () => void;
  readonly fail: (error: unknown) => void;
}

/** First come, first served. */
export class Turns {
  readonly #most: number;
  #waiting: Waiting[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `call` when its turn has come. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) {
      await new Promise<void>((go, fail) => this.#waiting.push({ go, fail }));
    } else {
      this.#running++;
    }
    try {
      return await call();
    } finally {
      // The place is handed over, so that nobody who came later slips in.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next.go();
    }
  }

  /** Ends the wait of all whose turn has not come. */
  failWaiting(error: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { fail } of waiting) fail(error);
  }
}
