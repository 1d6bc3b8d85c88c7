// The entry point `nest-rate-limit/testing`.
export {
  type Admission,
  EnvelopeError,
  envelopeViolation,
  type EnvelopeViolation,
} from './envelope';
export { FakeClock } from './fake-clock';
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
