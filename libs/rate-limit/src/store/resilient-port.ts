// The port that the limiter asks: a store that always answers, and who answered.
import type { DecisionSource } from '../core/decision';
import type { ParsedLimit } from '../core/limit';
import type {
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

/** A store that answers by the failure mode of each charge when it cannot reach its buckets. */
export interface AnsweringStore {
  readonly source: RateLimitStore['source'];
  /** False for a store of somebody's own that has no `giveBack`. */
  readonly takesBack: boolean;
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
  /** Needs the shared store. @throws StoreUnavailableError */
  reset(buckets: readonly string[]): Promise<void>;
  close(): Promise<void>;
}
