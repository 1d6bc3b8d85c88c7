// The port for what is held and given back, instead of used up: slots of a key, by leases.
import type { Held } from '../core/leases';

/** Who asks for a slot of what. */
export interface SlotRequest {
  /** The name of the slots in the store. */
  readonly slots: string;
  /** The holder; no two ever have the same. */
  readonly id: string;
  /** The most slots held at once, 1 or more. */
  readonly max: number;
  /** How long the slot is held without a further word, in ms; `Infinity` only in a store of this process. */
  readonly leaseMs: number;
}

/**
 * Keeps slots. What every store promises:
 * - a call is atomic: whatever the interleaving, no more than `max` are held after a grant;
 * - asking again with the same id keeps the slot and counts the lease from now;
 * - a lease that has ended holds nothing, and asking again is asking anew;
 * - releasing an id that holds nothing changes nothing;
 * - the store's clock decides, not the caller's.
 */
export interface LeaseStore {
  hold(request: SlotRequest): Held | Promise<Held>;
  release(request: Pick<SlotRequest, 'slots' | 'id'>): void | Promise<void>;
}
