// Tokens and metadata keys. `Symbol.for`, so that two installed copies of the package meet.

/** The checked options of the module. */
export const RATE_LIMIT_OPTIONS = Symbol.for('nest-rate-limit:options');
/** The checked options of load shedding. */
export const LOAD_SHEDDING_OPTIONS = Symbol.for('nest-rate-limit:load-shedding-options');
/** The store that keeps the buckets; see {@link getStoreToken}. */
export const RATE_LIMIT_STORE = Symbol.for('nest-rate-limit:store');
/** The store behind its deadline and failure policy. */
export const ANSWERING_STORE = Symbol.for('nest-rate-limit:answering-store');
export const POLICY_REGISTRY = Symbol.for('nest-rate-limit:policy-registry');
/** The clock that calls are held by. */
export const SCHEDULER = Symbol.for('nest-rate-limit:scheduler');
export const LIMITER_EMITTER = Symbol.for('nest-rate-limit:events');

/** Metadata: what `@RateLimit` recorded on a class or a method. */
export const RATE_LIMITS_METADATA = Symbol.for('nest-rate-limit:limits');
/** Metadata: what `@ConcurrencyLimit` recorded on a class or a method. */
export const CONCURRENCY_METADATA = Symbol.for('nest-rate-limit:concurrency');
/** Metadata: what `@Criticality` recorded on a class or a method. */
export const CRITICALITY_METADATA = Symbol.for('nest-rate-limit:criticality');
/** Metadata: what `@SkipRateLimit` recorded on a class or a method. */
export const SKIPS_METADATA = Symbol.for('nest-rate-limit:skips');

/** The injection token of the module's store: `app.get(getStoreToken())`, or to override it in tests. */
export function getStoreToken(): symbol {
  return RATE_LIMIT_STORE;
}
