// Bounds how many calls of this process are under way at once; the others wait here, in order.

/** First come, first served. */
export class Turns {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Runs `call` when its turn has come. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) await new Promise<void>((go) => this.#waiting.push(go));
    else this.#running++;
    try {
      return await call();
    } finally {
      // The place is handed over, so that nobody who came later slips in.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
