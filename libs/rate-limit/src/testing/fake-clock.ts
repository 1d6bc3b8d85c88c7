// A clock that moves when a test says so, and whatever waits for it. Reads no system clock.
// Of node:timers, so that faked global timers cannot stop it.
import { setImmediate } from 'node:timers';
import type { Scheduler } from '../core/clock';

/** 2026-01-01T00:00:00Z */
const START_MS = 1_767_225_600_000;

interface Timer {
  readonly dueMs: number;
  readonly run: () => void;
}

/**
 * A clock for tests. It stands still until it is moved; then everything that is due on the way happens in order, each
 * at its own moment.
 */
export class FakeClock implements Scheduler {
  /** The wall clock stood at `wallMs` when `#monotonicMs` was `atMs`. A sum of steps would lose its microseconds. */
  #set: { readonly wallMs: number; readonly atMs: number };
  #monotonicMs = 0;
  /** By their due time; those of one moment in the order of their asking. */
  readonly #timers: Timer[] = [];
  readonly #watchers = new Set<() => void>();

  /** @param startMs wall-clock time in milliseconds since the Unix epoch; default: the start of 2026 */
  constructor(startMs = START_MS) {
    this.#set = { wallMs: startMs, atMs: 0 };
  }

  nowMs(): number {
    return this.#set.wallMs + (this.#monotonicMs - this.#set.atMs);
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** How many waits there are on this clock: held calls, jobs that wait their turn, waits for results. */
  get pending(): number {
    return this.#timers.length;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { dueMs: this.#monotonicMs + Math.max(0, ms), run };
    const at = this.#timers.findIndex(({ dueMs }) => dueMs > timer.dueMs);
    this.#timers.splice(at < 0 ? this.#timers.length : at, 0, timer);
    for (const told of this.#watchers) told();
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  /**
   * Lets time pass, on both clocks. What is due begins on the way; what it goes on to do by promises happens after
   * this call, at its last moment. See {@link advanceAsync}.
   *
   * @param ms may be a fraction, and is not negative: see {@link set}
   */
  advance(ms: number): void {
    const endMs = this.#end('advance', ms);
    while (this.#runNext(endMs));
    this.#moveTo(endMs);
  }

  /**
   * Lets time pass as `advance`, and lets the promises of each moment settle before the next one: a job that awaits
   * ends, and the next one starts, when they would. Input and output (a call of HTTP, of Redis) are not waited for.
   */
  async advanceAsync(ms: number): Promise<void> {
    const endMs = this.#end('advanceAsync', ms);
    do await turn();
    while (this.#runNext(endMs));
    this.#moveTo(endMs);
    await turn();
  }

  /**
   * Settles when at least `count` waits are {@link pending}: a request that was sent over a socket is held then. Real
   * time passes meanwhile.
   */
  async untilPending(count = 1): Promise<void> {
    if (this.pending >= count) return;
    await new Promise<void>((resolve) => {
      const told = () => {
        if (this.pending < count) return;
        this.#watchers.delete(told);
        resolve();
      };
      this.#watchers.add(told);
    });
  }

  /**
   * Sets the wall clock, forward or back, as an operator or NTP would. No time passes: buckets see it at once, queued
   * jobs when their line is looked at next.
   */
  set(ms: number): void {
    this.#set = { wallMs: ms, atMs: this.#monotonicMs };
  }

  #end(call: string, ms: number): number {
    if (!(ms >= 0)) throw new RangeError(`${call}(${ms}): time does not run back; use set()`);
    return this.#monotonicMs + ms;
  }

  /** Moves to the next timer that is due by then, and runs it. False: there is none. */
  #runNext(endMs: number): boolean {
    if (this.#timers.length === 0 || this.#timers[0].dueMs > endMs) return false;
    const { dueMs, run } = this.#timers.shift() as Timer;
    this.#moveTo(dueMs);
    run();
    return true;
  }

  #moveTo(ms: number): void {
    this.#monotonicMs = Math.max(this.#monotonicMs, ms);
  }
}

/** All promises that can settle without input or output have settled. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
