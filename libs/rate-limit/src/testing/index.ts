// The entry point `nest-rate-limit/testing`.
export { FakeClock } from './fake-clock';
export { storeContract, type MakeStore } from './store.contract';
