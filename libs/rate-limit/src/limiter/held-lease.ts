// One slot that this process holds, and what is known of its lease. Knows no store and no timer.
import type { LeaseLostError } from '../core/errors';
import type { Awaitable } from '../store/rate-limit-store';
import type { ResilientSlotRequest, SlotAnswer } from '../store/resilient-port';

/** A word each third of the lease; one that failed is said again after half of that. */
const WORDS_PER_LEASE = 3;

/** A slot that is held. */
export interface Lease {
  /** Gives the slot back; twice is once. Settles when the store knows, or cannot be told. Never fails. */
  release(): Awaitable<void>;
  /**
   * For a holder that may never say that it has ended: gives the slot back after one more lease, unless it is
   * released before. Twice is once.
   */
  runOut(): void;
}

/** What the keeper does for its leases. */
export interface LeaseKeeping {
  watch(lease: HeldLease): void;
  forget(lease: HeldLease): void;
  giveBack(request: ResilientSlotRequest): Awaitable<void>;
  nowMs(): number;
}

/** A lease counts from the moment it was asked for, so it ends here before the store gives the slot to anybody else. */
export class HeldLease implements Lease {
  /** A word to the store that is on its way. */
  word: Promise<void> | undefined;
  runsOut = false;
  /** As far as is known the slot is ours in the shared store. Else it is held by the failure policy. */
  #isShared: boolean;
  #endsAtMs: number;
  #nextWordAtMs: number;
  #isReleased = false;
  #released: Awaitable<void> = undefined;

  constructor(
    readonly request: ResilientSlotRequest,
    private readonly keeping: LeaseKeeping,
    readonly lost: ((reason: LeaseLostError) => void) | undefined,
    { degraded }: SlotAnswer,
    sentAtMs: number,
  ) {
    this.#isShared = !degraded;
    this.#endsAtMs = sentAtMs + request.leaseMs;
    this.#nextWordAtMs = sentAtMs + request.leaseMs / WORDS_PER_LEASE;
  }

  release(): Awaitable<void> {
    if (this.#isReleased) return this.#released;
    this.#isReleased = true;
    this.keeping.forget(this);
    // After the word on its way: coming later, it would take a slot that nobody gives back.
    const giveBack = () => this.keeping.giveBack(this.request);
    this.#released = this.word === undefined ? giveBack() : this.word.then(giveBack);
    return this.#released;
  }

  runOut(): void {
    if (this.#isReleased || this.runsOut) return;
    this.runsOut = true;
    this.#endsAtMs = this.keeping.nowMs() + this.request.leaseMs;
    this.keeping.watch(this);
  }

  /** When there is something to do. */
  get dueAtMs(): number {
    if (this.runsOut) return this.#endsAtMs;
    const endsAtMs = this.#isShared ? this.#endsAtMs : Infinity;
    return this.word === undefined ? Math.min(endsAtMs, this.#nextWordAtMs) : endsAtMs;
  }

  /** From here on the store may give the slot to somebody else, or nobody may need it. */
  hasEnded(nowMs: number): boolean {
    return (this.runsOut || this.#isShared) && nowMs >= this.#endsAtMs;
  }

  /** A word is due, or so soon that it may as well be said now. */
  wantsWord(nowMs: number): boolean {
    if (this.runsOut || this.word !== undefined) return false;
    return nowMs >= this.#nextWordAtMs - this.request.leaseMs / (4 * WORDS_PER_LEASE);
  }

  said(word: Promise<void>, nowMs: number): void {
    this.word = word;
    this.#nextWordAtMs = nowMs + this.request.leaseMs / WORDS_PER_LEASE;
  }

  /** A word came to nothing. What the store knows of the slot ends with its lease. */
  unheard(nowMs: number): void {
    this.#nextWordAtMs = nowMs + this.request.leaseMs / (2 * WORDS_PER_LEASE);
  }

  /** What the store answered to a word. False: the slot is lost. */
  heard({ granted, degraded }: SlotAnswer, sentAtMs: number): boolean {
    if (this.runsOut) return true;
    if (degraded) {
      this.#isShared = false;
      return true;
    }
    // Held by the failure policy, and no room for it now that the store is back: it was granted, and stays so.
    if (!granted) return !this.#isShared;
    this.#isShared = true;
    this.#endsAtMs = sentAtMs + this.request.leaseMs;
    return true;
  }
}
