// Callers that never stop while a topology changes under them, and what became of each call.
import { setTimeout as delay } from 'node:timers/promises';
import type { Charge, RateLimiter } from '../../src/limiter/rate-limiter';

/** One call that was answered. */
export interface Answered {
  readonly at: number;
  readonly tookMs: number;
  /** Its first charge's key. */
  readonly key: string;
  readonly allowed: boolean;
  readonly source: 'shared' | 'memory' | 'local';
}

/** Calls a limiter again and again: a caller makes its next call when the last one was answered. */
export class SteadyLoad {
  readonly answers: Answered[] = [];
  /** What was thrown. */
  readonly errors: unknown[] = [];
  readonly #callers: Promise<void>[] = [];
  #isOver = false;

  /** @param charges of the n-th call of a caller */
  constructor(
    private readonly limiter: RateLimiter,
    private readonly charges: (caller: number, n: number) => Charge[],
    callers = 10,
    private readonly pauseMs = 5,
  ) {
    for (let caller = 0; caller < callers; caller++) this.#callers.push(this.#call(caller));
  }

  /** Waits until so many calls in a row were answered by the shared store. */
  async isShared(ms = 15_000): Promise<void> {
    const until = performance.now() + ms;
    while (!this.#sharedInARow(30)) {
      if (performance.now() > until) throw new Error(`not shared again within ${ms} ms`);
      await delay(20);
    }
  }

  /** Waits for that many more answers. */
  async more(answers: number): Promise<void> {
    const until = this.answers.length + answers;
    while (this.answers.length < until) await delay(10);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
  }

  /** Calls that passed, by key and who answered. */
  admitted(source?: Answered['source']): Map<string, number> {
    const admitted = new Map<string, number>();
    for (const each of this.answers) {
      if (!each.allowed || (source !== undefined && each.source !== source)) continue;
      admitted.set(each.key, (admitted.get(each.key) ?? 0) + 1);
    }
    return admitted;
  }

  get slowestMs(): number {
    return Math.max(...this.answers.map(({ tookMs }) => tookMs));
  }

  /** How long there were answers from this process alone, from the first to the last. */
  get localMs(): number {
    const local = this.answers.filter(({ source }) => source === 'local');
    return local.length === 0 ? 0 : local[local.length - 1].at - local[0].at;
  }

  #sharedInARow(count: number): boolean {
    const last = this.answers.slice(-count);
    return last.length === count && last.every(({ source }) => source === 'shared');
  }

  async #call(caller: number): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const charges = this.charges(caller, n);
      const at = performance.now();
      try {
        const { allowed, binding } = await this.limiter.consumeAll(charges);
        const tookMs = performance.now() - at;
        this.answers.push({ at, tookMs, key: charges[0].key, allowed, source: binding.source });
      } catch (error) {
        this.errors.push(error);
      }
      await delay(this.pauseMs);
    }
  }
}
