// The entry point `nest-rate-limit/testing`.
export {
  type Admission,
  EnvelopeError,
  envelopeViolation,
  type EnvelopeViolation,
} from './envelope';
export { FakeClock } from './fake-clock';
export type { InProcessJob } from './queue/in-process-job';
export type {
  InProcessQueueOptions,
  InProcessSubmitOptions,
  JobRetries,
} from './queue/in-process-options';
export type { InProcessQueue, InProcessSubmitItem } from './queue/in-process-queue';
export {
  type OverridableModule,
  RateLimitTestingModule,
  type RateLimitTestingOptions,
} from './rate-limit-testing.module';
export { redisStoreOn } from './redis-store-on';
export {
  type Arrival,
  simulate,
  type SimulatedDecision,
  type Simulation,
  type SimulationTotals,
} from './simulate';
export { storeContract, type MakeStore } from './store.contract';
export type { Matchers, TestRunner } from './test-runner';
