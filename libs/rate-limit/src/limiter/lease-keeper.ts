// Keeps the slots that this process holds: says in time that they are still in use, and tells who has lost one.
import { type Clock, systemClock } from '../core/clock';
import { LeaseLostError } from '../core/errors';
import { holderIds } from '../core/holder-ids';
import { ownTimer } from '../core/own-timer';
import type { Awaitable } from '../store/rate-limit-store';
import type { AnsweringLeases, ResilientSlotRequest, SlotAnswer } from '../store/resilient-port';
import { HeldLease, type Lease, type LeaseKeeping } from './held-lease';

/** A request whose id the keeper gives. */
export type Slot = Omit<ResilientSlotRequest, 'id'>;

/** What came of asking for a slot; a lease if it was granted. */
export interface Asked {
  readonly answer: SlotAnswer;
  readonly lease: Lease | undefined;
}

/**
 * Holds slots for callers. One timer serves all leases; it never keeps a process alive.
 *
 * What is held by the failure policy is not lost with the store: it stays, and is made known to the store when that
 * is back.
 */
export class LeaseKeeper {
  /** Leases that need a word now and then, or run out. */
  readonly #held = new Set<HeldLease>();
  readonly #newId = holderIds();
  readonly #keeping: LeaseKeeping;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Infinity;
  #closed = false;

  constructor(
    private readonly leases: AnsweringLeases,
    private readonly clock: Clock = systemClock,
  ) {
    this.#keeping = {
      watch: (held) => {
        this.#held.add(held);
        this.#arm(held.dueAtMs);
      },
      forget: (held) => this.#held.delete(held),
      giveBack: (request) => leases.release(request),
      nowMs: () => clock.monotonicMs(),
    };
  }

  /**
   * Asks for a slot, now or never.
   *
   * @param lost told once, if the slot is lost before it is released
   * @throws StoreUnavailableError when the store is out and the slot is `closed`
   */
  hold(slot: Slot, lost?: (reason: LeaseLostError) => void): Awaitable<Asked> {
    const request = { ...slot, id: this.#newId() };
    const sentAtMs = this.clock.monotonicMs();
    const answer = this.leases.hold(request);
    const asked = (settled: SlotAnswer): Asked => {
      if (!settled.granted) return { answer: settled, lease: undefined };
      const held = new HeldLease(request, this.#keeping, lost, settled, sentAtMs);
      // In this process' memory a lease never ends.
      if (settled.source !== 'memory') this.#keeping.watch(held);
      return { answer: settled, lease: held };
    };
    return answer instanceof Promise ? answer.then(asked) : asked(answer);
  }

  /** Says no more words: what is held in a shared store runs out, and its holders are told. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const held of this.#held) {
      if (!held.runsOut) this.#lose(held, 'the limiter was closed');
    }
  }

  #arm(atMs: number): void {
    if (this.#closed || atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    const inMs = Math.max(1, Math.ceil(atMs - this.clock.monotonicMs()));
    // Timers run before sockets are read: after a stall of our own, answers that are there come first.
    this.#timer = ownTimer(() => setImmediate(() => this.#look()), inMs);
  }

  /** Does what is due, and sets the timer for the rest. */
  #look(): void {
    if (this.#closed) return;
    this.#timerAtMs = Infinity;
    const nowMs = this.clock.monotonicMs();
    let nextAtMs = Infinity;
    for (const held of this.#held) {
      if (held.hasEnded(nowMs)) {
        if (held.runsOut) void held.release();
        else this.#lose(held, `its lease of ${held.request.leaseMs} ms ended without a word`);
        continue;
      }
      if (held.wantsWord(nowMs)) this.#say(held, nowMs);
      nextAtMs = Math.min(nextAtMs, held.dueAtMs);
    }
    this.#arm(nextAtMs);
  }

  /** Tells the store that a slot is still in use. */
  #say(held: HeldLease, nowMs: number): void {
    const word = this.#ask(held, nowMs).then(() => {
      held.word = undefined;
      if (this.#held.has(held)) this.#arm(held.dueAtMs);
    });
    held.said(word, nowMs);
  }

  async #ask(held: HeldLease, nowMs: number): Promise<void> {
    let answer: SlotAnswer;
    try {
      answer = await this.leases.hold(held.request);
    } catch {
      held.unheard(this.clock.monotonicMs());
      return;
    }
    if (this.#held.has(held) && !held.heard(answer, nowMs)) {
      this.#lose(held, 'the store forgot it, and all slots are taken by others');
    }
  }

  #lose(held: HeldLease, why: string): void {
    this.#held.delete(held);
    held.lost?.(new LeaseLostError(`a slot of ${held.request.place} is lost: ${why}`));
  }
}
