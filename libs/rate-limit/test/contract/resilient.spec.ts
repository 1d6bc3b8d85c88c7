// The resilient store is no RateLimitStore, since it needs to know what to do in an outage. While there is none,
// it has to keep every promise of the store that it wraps; in one, the local buckets keep them for the process.
import { MemoryStore } from '../../src/store/memory/memory-store';
import type { BucketCharge, RateLimitStore } from '../../src/store/rate-limit-store';
import type { FailureMode } from '../../src/store/resilient-port';
import { ResilientStore } from '../../src/store/resilient/resilient-store';
import { type FakeClock, storeContract } from '../../src/testing';
import { FakeShared, GONE } from '../support/fake-shared-store';

function resilient(
  inner: RateLimitStore,
  clock: FakeClock,
  failureMode: FailureMode,
): RateLimitStore {
  const store = new ResilientStore(inner, { timeoutMs: 5000, clock });
  const known = (charges: readonly BucketCharge[]) =>
    charges.map((charge) => ({ ...charge, failureMode, localLimit: charge.limit }));
  return {
    source: inner.source,
    take: async (charges) => (await store.take(known(charges))).outcomes,
    peek: async (charges) => (await store.peek(known(charges))).outcomes,
    reset: (buckets) => store.reset(buckets),
    close: () => store.close(),
  };
}

storeContract('resilient over a shared store', (clock) =>
  resilient(new FakeShared(clock), clock, 'closed'),
);

storeContract('resilient over the memory store', (clock) =>
  resilient(new MemoryStore({ clock }), clock, 'closed'),
);

storeContract('resilient, in an outage, local', async (clock) => {
  const shared = new FakeShared(clock);
  shared.state = GONE;
  const store = resilient(shared, clock, 'local');
  // Resetting needs the shared store; the rest of the promises are the local buckets'.
  const reset = async (buckets: readonly string[]) => {
    shared.state = 'up';
    await store.reset(buckets);
    shared.state = GONE;
  };
  return { ...store, reset };
});
