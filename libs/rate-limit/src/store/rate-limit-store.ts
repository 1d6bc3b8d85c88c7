// The port: where buckets live. A store keeps them and applies the core's arithmetic atomically.
import type { StoreConfigurationError } from '../core/errors';
import type { ParsedLimit } from '../core/limit';
import type { ConfigurationStore } from './configuration-store';
import type { LeaseStore } from './lease-store';

/** A value now, or later. A store that can answer at once does so. */
export type Awaitable<T> = T | Promise<T>;

/** One charge to one bucket, in core units. */
export interface BucketCharge {
  /** The bucket's name. */
  readonly bucket: string;
  /** Names the policy and scope alone: what the bucket shares with those of other keys. */
  readonly place: string;
  /** The name of what may be configured for it; left out, nothing can be. */
  readonly configuration?: string;
  readonly limit: ParsedLimit;
  /** Credits to take: positive, at most `limit.capacity`. */
  readonly price: number;
  /** The longest acceptable wait in µs; 0 = now or never. */
  readonly maxWaitUs: number;
}

/** What one bucket says to one charge. */
export interface Outcome {
  /** This bucket would grant. It was charged only if every bucket of the call granted. */
  readonly granted: boolean;
  /** µs until the cost is there; 0 = now, Infinity = never: it is more than the configured capacity. */
  readonly waitUs: number;
  /** Credits after the call; negative is debt. */
  readonly credits: number;
  /** µs until the bucket is full; 0 = it is. */
  readonly fullInUs: number;
  /**
   * The store's time, in µs, that a grant is for: what {@link RateLimitStore.giveBack} is told. Only
   * where the charge may wait (`maxWaitUs` above 0).
   */
  readonly startsAtUs?: number;
  /** The limit that decided, where another one is configured than the charge's. The credits are of it. */
  readonly limit?: ParsedLimit;
  /** It was refused by a block that was set by hand, whatever the bucket holds. */
  readonly blocked?: true;
}

/** A charge that was granted and is not used. */
export interface UnusedGrant extends BucketCharge {
  /** As the grant's outcome said. */
  readonly startsAtUs: number;
}

/** A bucket that is given credits, or from which some are taken without asking. */
export interface Adjustment extends Pick<
  BucketCharge,
  'bucket' | 'place' | 'configuration' | 'limit'
> {
  /** Credits to add; negative: to take. Whole thousandths of a token. */
  readonly credits: number;
}

/** What `take` would have said, and what is there. */
export interface Peeked extends Outcome {
  /** Credits that are there before any charge. */
  readonly held: number;
  /** Something is missing from the bucket. A full bucket and an absent one are the same. */
  readonly known: boolean;
}

/**
 * Keeps buckets. Every method may answer at once or by a promise.
 *
 * What every store promises (`storeContract` in `nest-rate-limit/testing` checks it):
 * - a call is atomic: concurrent calls admit exactly what they would one after another;
 * - all or nothing: if one bucket of a call refuses, none is charged;
 * - a refusal changes nothing but elapsed time;
 * - an absent bucket is a full one, and a bucket is not forgotten before it is full;
 * - a limit that changed under a bucket keeps whole thousandths of its tokens;
 * - its clock decides, not the caller's.
 *
 * Failures are `StoreUnavailableError` (may pass) or `StoreConfigurationError` (will not).
 */
export interface RateLimitStore {
  /** `shared`: one truth for several processes; such a store gets a deadline and a failure policy. */
  readonly source: 'shared' | 'memory';
  /** Charges distinct buckets: all of them, or none. One outcome each, in order. */
  take(charges: readonly BucketCharge[]): Awaitable<readonly Outcome[]>;
  /** What `take` would say of each; writes nothing. */
  peek(charges: readonly BucketCharge[]): Awaitable<readonly Peeked[]>;
  /**
   * Gives back grants: what each took, less what was promised to others behind it since, and never
   * above full. Each at most once. A store without this method keeps what was granted.
   */
  giveBack?(grants: readonly UnusedGrant[]): Awaitable<void>;
  /**
   * Adds credits, never above full, or takes them without asking, into debt. In order; one bucket may come several
   * times. A store without this method can neither settle nor refund.
   */
  adjust?(adjustments: readonly Adjustment[]): Awaitable<void>;
  /** Forgets buckets: they are full again. Unknown ones are ignored. */
  reset(buckets: readonly string[]): Awaitable<void>;
  /** For numbers and blocks that are set by hand. A store without it knows none. */
  readonly configurations?: ConfigurationStore;
  /** For limits of what is in flight. A store without it can limit rates only. */
  readonly leases?: LeaseStore;
  /**
   * What the server throws away when it is full, in Redis' words (`noeviction`, `allkeys-lru` …); `undefined`: it does
   * not say. Asked once, for a warning at the start; must answer within a moment, and not fail.
   */
  evictionPolicy?(): Awaitable<string | undefined>;
  /**
   * Why the store would refuse every call, if it is known to (a wrong password). While it says so, no call is made, and
   * one that gets no answer was refused: neither is an outage.
   */
  refusal?(): StoreConfigurationError | undefined;
  /** Ends what the store itself opened. Further calls fail. */
  close?(): Awaitable<void>;
}
