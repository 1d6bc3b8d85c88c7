// The port that the limiter asks: a store that always answers, and who answered.
import type { DecisionSource } from '../core/decision';
import type { Held } from '../core/leases';
import type { ParsedLimit } from '../core/limit';
import type { ConfigurationStore } from './configuration-store';
import type { SlotRequest } from './lease-store';
import type {
  Adjustment,
  Awaitable,
  BucketCharge,
  Outcome,
  Peeked,
  RateLimitStore,
  UnusedGrant,
} from './rate-limit-store';

/** `local`: this process limits alone. `open`: let pass. `closed`: refuse with 503. */
export type FailureMode = 'local' | 'open' | 'closed';

export const FAILURE_MODES: readonly FailureMode[] = ['local', 'open', 'closed'];

/** A charge that knows what to do without the shared store. */
export interface ResilientCharge extends BucketCharge {
  readonly failureMode: FailureMode;
  /** For `local`: the limit that this process may use on its own. */
  readonly localLimit: ParsedLimit;
}

/** A grant that is not used, of a charge that knew what to do without the shared store. */
export interface UnusedResilientGrant extends ResilientCharge, UnusedGrant {}

/** The outcomes of a call, and who gave them. */
export interface Answer<T extends Outcome = Outcome> {
  readonly outcomes: readonly T[];
  readonly source: DecisionSource;
  /** The shared store was out and the failure policy answered. */
  readonly degraded: boolean;
}

/** A request for a slot that knows what to do without the shared store. */
export interface ResilientSlotRequest extends SlotRequest {
  /** What the slots are of, without the key; for messages. */
  readonly place: string;
  readonly failureMode: FailureMode;
  /** For `local`: the most slots that this process may hold, those of the shared store included. */
  readonly localMax: number;
}

/** Whether the id holds a slot, and who said so. */
export interface SlotAnswer extends Held {
  readonly source: DecisionSource;
  /** The shared store was out and the failure policy answered. */
  readonly degraded: boolean;
}

/** Slots that are answered for by the failure mode of each request when the shared ones cannot be reached. */
export interface AnsweringLeases {
  /** `memory`: a holder cannot die without the store, so leases never end there. */
  readonly source: RateLimitStore['source'];
  /** @throws StoreUnavailableError when the store is out and the request is `closed` */
  hold(request: ResilientSlotRequest): Awaitable<SlotAnswer>;
  /** Never fails: where the store cannot be told, the lease ends by itself. */
  release(request: ResilientSlotRequest): Awaitable<void>;
}

/** A store that answers by the failure mode of each charge when it cannot reach its buckets. */
export interface AnsweringStore {
  readonly source: RateLimitStore['source'];
  /** False for a store of somebody's own that has no `giveBack`. */
  readonly takesBack: boolean;
  /** `undefined` for a store of somebody's own that has none. */
  readonly leases?: AnsweringLeases;
  /** `undefined` for a store of somebody's own that has none. They need the shared store. */
  readonly configurations?: ConfigurationStore;
  /**
   * @throws StoreUnavailableError when the store is out and one of the charges is `closed`, or costs
   *   more than its local share could ever let pass
   */
  take(charges: readonly ResilientCharge[]): Awaitable<Answer>;
  /**
   * @throws StoreUnavailableError when the store is out and one of the charges is `closed`, or costs
   *   more than its local share could ever let pass
   */
  peek(charges: readonly ResilientCharge[]): Awaitable<Answer<Peeked>>;
  /**
   * Gives back grants to the store that gave them. Of a shared store that is out they are lost: what
   * was granted then counts as used.
   * @param source as the answer said
   * @throws StoreConfigurationError
   */
  giveBack(grants: readonly UnusedResilientGrant[], source: DecisionSource): Awaitable<void>;
  /**
   * Needs the shared store; `undefined` for a store of somebody's own that has none.
   * @throws StoreUnavailableError: it may have been done all the same
   */
  readonly adjust?: (adjustments: readonly Adjustment[]) => Awaitable<void>;
  /** Needs the shared store. @throws StoreUnavailableError */
  reset(buckets: readonly string[]): Promise<void>;
  close(): Promise<void>;
}
