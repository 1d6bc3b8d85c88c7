// The entry point `nest-rate-limit/testing`.
export { FakeClock } from './fake-clock';
