// Slots that are always answered for in time: by the shared store, or by the failure policy. Knows no Redis.
import type { Clock } from '../../core/clock';
import { StoreUnavailableError } from '../../core/errors';
import type { LeaseStore } from '../lease-store';
import { MemoryLeases } from '../memory/memory-leases';
import type { Awaitable, RateLimitStore } from '../rate-limit-store';
import type { AnsweringLeases, ResilientSlotRequest, SlotAnswer } from '../resilient-port';
import type { SharedCalls } from './shared-calls';

/** Holders of this process do not die without it. */
const NO_END = { leaseMs: Infinity };
const NO_BOUND = { max: Infinity };

/**
 * Wraps the slots of a store. Those of this process answer as they are, and their leases never end.
 *
 * This process remembers the slots that it holds in a shared store, so that it knows its own share when the store is
 * out: `local` then counts them. What is held by the failure policy is asked for in the shared store at the holder's
 * next word, under the same id.
 */
export class ResilientLeases implements AnsweringLeases {
  readonly #local: MemoryLeases;

  constructor(
    private readonly inner: LeaseStore,
    readonly source: RateLimitStore['source'],
    private readonly calls: SharedCalls,
    clock?: Clock,
  ) {
    this.#local = new MemoryLeases(clock);
  }

  hold(request: ResilientSlotRequest): Awaitable<SlotAnswer> {
    if (this.source === 'shared') return this.#holdShared(request);
    const held = this.inner.hold({ ...request, ...NO_END });
    return held instanceof Promise ? held.then(inMemory) : inMemory(held);
  }

  release(request: ResilientSlotRequest): Awaitable<void> {
    if (this.source === 'memory') return this.inner.release(request);
    this.#local.release(request);
    const released = this.#releaseShared(request);
    // A frozen store hears it when it wakes up; nobody waits for that.
    return this.calls.isOut ? undefined : released;
  }

  async #holdShared(request: ResilientSlotRequest): Promise<SlotAnswer> {
    const asked = { late: false };
    try {
      if (this.calls.isOut) throw new StoreUnavailableError('the rate limit store is out');
      const held = await this.calls.write(
        () => this.#ask(request, asked),
        async () => this.inner.hold({ ...probeOf(request), max: 1, leaseMs: 1 }),
        ({ granted }) => granted,
      );
      if (held.granted) this.#local.hold({ ...request, ...NO_END, ...NO_BOUND });
      return { ...held, source: 'shared', degraded: false };
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      asked.late = true;
      return this.#withoutStore(request, error);
    }
  }

  /** A grant that comes too late is given up at once, unless its id holds a slot by the failure policy. */
  async #ask(request: ResilientSlotRequest, asked: { readonly late: boolean }) {
    const held = await this.inner.hold(request);
    if (asked.late && held.granted && !this.#local.has(request)) void this.#releaseShared(request);
    return held;
  }

  #withoutStore(request: ResilientSlotRequest, cause: unknown): SlotAnswer {
    const { failureMode, place, localMax } = request;
    if (failureMode === 'closed') {
      throw new StoreUnavailableError(
        `the rate limit store is out and ${place} is closed without it`,
        { cause },
      );
    }
    const max = failureMode === 'open' ? Infinity : localMax;
    const held = this.#local.hold({ ...request, ...NO_END, max });
    return { ...held, source: 'local', degraded: true };
  }

  /** What cannot be told, the lease ends by itself. */
  #releaseShared(request: ResilientSlotRequest): Promise<void> {
    return this.calls.unheard(async () => this.inner.release(request));
  }
}

function inMemory(held: { granted: boolean; inFlight: number }): SlotAnswer {
  return { ...held, source: 'memory', degraded: false };
}

function probeOf({ slots, id }: ResilientSlotRequest) {
  return { slots: `${slots}:probe`, id };
}
