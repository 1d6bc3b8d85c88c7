// The public surface of nest-rate-limit: explicit named exports only.
export { type Clock, systemClock } from './core/clock';
export type { CombinedDecision, Decision, DecisionSource } from './core/decision';
export type { Period } from './core/duration';
export {
  ConcurrencyExceededError,
  CostExceedsCapacityError,
  InvalidCostError,
  InvalidLimitError,
  LeaseLostError,
  LimiterClosedError,
  MissingKeyError,
  RateLimitError,
  type RateLimitErrorCode,
  RateLimitExceededError,
  StoreConfigurationError,
  StoreTimeoutError,
  StoreUnavailableError,
  TooManyWaitersError,
  UnknownPolicyError,
  UnsupportedOperationError,
  WaitTooLongError,
} from './core/errors';
export type { AlgorithmName, Limit, ParsedLimit } from './core/limit';
export type { Caller, Transport } from './http/caller';
export { allOf, firstOf } from './http/key-combinators';
export type { KeyValue, MissingKey } from './http/key-resolver';
export { byBody, byHeader, byIp, byTenant, byUser } from './http/key-resolvers';
export {
  allOfKey,
  bodyKey,
  headerKey,
  ipKey,
  type IpKeyOptions,
  tenantKey,
  userKey,
} from './http/key-text';
export type { MaybePromise } from './http/maybe-promise';
export type { ProblemBody } from './http/problem-body';
export type { HeaderStyle } from './http/rate-limit-headers';
export { type AcquireOptions, BoundLimiter } from './limiter/bound-limiter';
export type { BudgetHold, BudgetOptions } from './limiter/budget';
export type { ConcurrencyOptions } from './limiter/concurrency-limit';
export type { WithConcurrencyOptions } from './limiter/concurrency-limiter';
export { LimiterEmitter, type LimiterEvents, type Shed } from './limiter/events';
export type { FleetShedderOptions } from './limiter/fleet-shedder';
export type { LoadRange, LoadReading } from './limiter/load-level';
export type { WorkerShedderOptions } from './limiter/worker-shedder';
export type { PolicyBehaviour } from './limiter/policy';
export type {
  ConfigurationOptions,
  ConfigureOptions,
  PolicyConfiguration,
} from './limiter/configurations';
export type { LimitRef } from './limiter/limit-ref';
export type { BucketInfo, Charge } from './limiter/rate-limiter';
export type { CombinedReservation, Reservation } from './limiter/reservation';
export type { Acquired } from './limiter/wait-lines';
export { ConcurrencyLimit } from './nest/concurrency-limit.decorator';
export { Criticality } from './nest/criticality.decorator';
export { LoadShedException } from './nest/load-shed.exception';
export { LoadSheddingModule } from './nest/load-shedding.module';
export type { LoadSheddingOptions } from './nest/load-shedding.options';
export type { Outcome as CallOutcome } from './nest/charge-on';
export { ProblemException } from './nest/problem.exception';
export { RateLimitExceededException } from './nest/rate-limit-exceeded.exception';
export { getStoreToken } from './nest/rate-limit.constants';
export {
  type NamedLimitOptions,
  type NumberedLimitOptions,
  RateLimit,
} from './nest/rate-limit.decorator';
export { RateLimitGuard } from './nest/rate-limit.guard';
export { RateLimitModule } from './nest/rate-limit.module';
export type { RateLimitOptionsFactory } from './nest/rate-limit.module-definition';
export type {
  ConcurrencyLimitOptions,
  DeferTo,
  KeyResolver,
  OfCall,
  RateLimitModuleOptions,
  RateLimitOptions,
} from './nest/rate-limit.options';
export { RateLimiterService } from './nest/rate-limiter.service';
export type { RouteLimit, RouteLimitNumbers, RoutePolicy } from './nest/route-limit';
export { SkipRateLimit } from './nest/skip-rate-limit.decorator';
export type { Held } from './core/leases';
export type {
  Configuration,
  ConfigurationStore,
  ConfiguredLimit,
} from './store/configuration-store';
export type { LeaseStore, SlotRequest } from './store/lease-store';
export { MemoryStore, type MemoryStoreOptions } from './store/memory/memory-store';
export type {
  Adjustment,
  Awaitable,
  BucketCharge,
  Outcome,
  Peeked,
  RateLimitStore,
} from './store/rate-limit-store';
export type { RedisConnectionOptions, RedisLike } from './store/redis-like';
export { RedisStore, type RedisStoreOptions } from './store/redis/redis-store';
export type { FailureMode } from './store/resilient-port';
