// Slots in a Map of this process. Bounded by what is in flight: a key without holders is forgotten.
import { systemClock, type Clock } from '../../core/clock';
import { US_PER_MS, usFromMs } from '../../core/duration';
import { type Held, Leases } from '../../core/leases';
import type { LeaseStore, SlotRequest } from '../lease-store';

/** Slots of one process; answers at once. */
export class MemoryLeases implements LeaseStore {
  readonly #slots = new Map<string, Leases>();

  constructor(private readonly clock: Clock = systemClock) {}

  /** Keys of which something is held. */
  get size(): number {
    return this.#slots.size;
  }

  hold({ slots, id, max, leaseMs }: SlotRequest): Held {
    const leases = this.#slots.get(slots) ?? new Leases();
    const held = leases.hold(id, max, usFromMs(this.clock.nowMs()), leaseMs * US_PER_MS);
    if (held.granted) this.#slots.set(slots, leases);
    return held;
  }

  release({ slots, id }: Pick<SlotRequest, 'slots' | 'id'>): void {
    const leases = this.#slots.get(slots);
    leases?.release(id);
    if (leases?.isEmpty === true) this.#slots.delete(slots);
  }

  /** Whether `id` has not been released; its lease may have ended. */
  has({ slots, id }: Pick<SlotRequest, 'slots' | 'id'>): boolean {
    return this.#slots.get(slots)?.has(id) === true;
  }
}
