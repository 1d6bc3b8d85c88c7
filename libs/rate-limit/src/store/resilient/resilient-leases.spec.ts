import { StoreConfigurationError, StoreUnavailableError } from '../../core/errors';
import { FakeClock } from '../../testing';
import { MemoryLeases } from '../memory/memory-leases';
import type { LeaseStore, SlotRequest } from '../lease-store';
import type { FailureMode, ResilientSlotRequest } from '../resilient-port';
import { ResilientLeases } from './resilient-leases';
import { SharedCalls } from './shared-calls';

const TIMEOUT_MS = 250;
const GONE = new Error('Connection is closed.');

function slot(
  id: string,
  mode: FailureMode = 'local',
  numbers: Partial<ResilientSlotRequest> = {},
) {
  const request = { slots: 'k', place: 'exports', max: 3, localMax: 2, leaseMs: 1000 };
  return { ...request, id, failureMode: mode, ...numbers } satisfies ResilientSlotRequest;
}

/** Shared slots that a test may break, or answer for when it likes. */
class FakeSharedLeases implements LeaseStore {
  readonly slots: MemoryLeases;
  state: 'up' | 'frozen' | Error = 'up';
  /** What a frozen store will do when it wakes up. */
  readonly waiting: (() => void)[] = [];
  calls = 0;

  constructor(clock: FakeClock) {
    this.slots = new MemoryLeases(clock);
  }

  hold(request: SlotRequest) {
    return this.#answer(() => this.slots.hold(request));
  }

  release(request: SlotRequest) {
    return this.#answer(() => this.slots.release(request));
  }

  async wake() {
    this.state = 'up';
    for (const each of this.waiting.splice(0)) each();
    await jest.advanceTimersByTimeAsync(0);
  }

  #answer<T>(answer: () => T): Promise<T> {
    this.calls++;
    if (this.state instanceof Error) return Promise.reject(this.state);
    if (this.state === 'up') return Promise.resolve(answer());
    return new Promise((resolve) => this.waiting.push(() => resolve(answer())));
  }
}

describe('ResilientLeases', () => {
  let clock: FakeClock;
  let shared: FakeSharedLeases;
  let calls: SharedCalls;
  let leases: ResilientLeases;
  let changes: (string | undefined)[];

  beforeEach(() => {
    jest.useFakeTimers();
    clock = new FakeClock();
    shared = new FakeSharedLeases(clock);
    changes = [];
    calls = new SharedCalls({
      timeoutMs: TIMEOUT_MS,
      onChange: (cause) => changes.push(cause?.message),
    });
    leases = new ResilientLeases(shared, 'shared', calls, clock);
  });
  afterEach(() => {
    calls.stopProbing();
    calls.close();
    jest.useRealTimers();
  });

  const hold = async (request: ResilientSlotRequest) => leases.hold(request);
  const refused = { granted: false, source: 'local', degraded: true };
  const granted = { granted: true, source: 'local', degraded: true };

  it('over a store of this process: answers at once, and leases never end', () => {
    const memory = new ResilientLeases(new MemoryLeases(clock), 'memory', calls, clock);
    expect(memory.hold(slot('a', 'closed', { max: 1 }))).toEqual({
      granted: true,
      inFlight: 1,
      source: 'memory',
      degraded: false,
    });
    clock.advance(1e9);
    expect(memory.hold(slot('b', 'open', { max: 1 }))).toMatchObject({ granted: false });
    expect(memory.release(slot('a'))).toBeUndefined();
    expect(memory.hold(slot('b', 'open', { max: 1 }))).toMatchObject({ granted: true });
  });

  it('asks the shared store while it is there', async () => {
    expect(await hold(slot('a'))).toEqual({
      granted: true,
      inFlight: 1,
      source: 'shared',
      degraded: false,
    });
    await leases.release(slot('a'));
    expect(shared.slots.size).toBe(0);
  });

  describe('when the store is out', () => {
    it('local: this process alone, counting what it held before', async () => {
      await hold(slot('a'));
      shared.state = GONE;
      expect(await hold(slot('b'))).toEqual({ ...granted, inFlight: 2 });
      expect(await hold(slot('c'))).toEqual({ ...refused, inFlight: 2 });
      await leases.release(slot('a'));
      expect(await hold(slot('c'))).toMatchObject(granted);
    });

    it('local: who holds a slot keeps it, also above the local most', async () => {
      for (const id of ['a', 'b', 'c']) await hold(slot(id));
      shared.state = GONE;
      expect(await hold(slot('c'))).toEqual({ ...granted, inFlight: 3 });
      expect(await hold(slot('d'))).toMatchObject(refused);
    });

    it('open: lets pass', async () => {
      shared.state = GONE;
      for (const id of ['a', 'b', 'c', 'd', 'e']) {
        expect(await hold(slot(id, 'open'))).toMatchObject(granted);
      }
    });

    it('closed: an error that names the place', async () => {
      shared.state = GONE;
      const error = await hold(slot('a', 'closed')).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(error).toMatchObject({
        message: 'the rate limit store is out and exports is closed without it',
        cause: { message: 'the rate limit store failed: Error: Connection is closed.' },
      });
    });

    it('a store that refuses us is no outage', async () => {
      shared.state = new StoreConfigurationError('NOPERM');
      await expect(hold(slot('a', 'open'))).rejects.toBe(shared.state);
    });

    it('is not asked any more after three failures, until a probe got through', async () => {
      shared.state = GONE;
      for (const id of ['a', 'b', 'c']) await hold(slot(id, 'open'));
      expect(changes).toEqual(['the rate limit store failed: Error: Connection is closed.']);
      const before = shared.calls;
      await hold(slot('d', 'open'));
      expect(shared.calls).toBe(before);
      shared.state = 'up';
      await jest.advanceTimersByTimeAsync(250);
      expect(changes).toHaveLength(2);
      // What is held by the failure policy is asked for again, under the same id.
      expect(await hold(slot('d', 'open'))).toMatchObject({ granted: true, source: 'shared' });
    });

    it('a release that the store cannot hear neither fails nor waits', async () => {
      await hold(slot('a'));
      shared.state = GONE;
      for (const id of ['x', 'y', 'z']) await hold(slot(id, 'open'));
      expect(leases.release(slot('a'))).toBeUndefined();
    });
  });

  describe('a store that answers too late', () => {
    async function holdLate(request: ResilientSlotRequest) {
      shared.state = 'frozen';
      const answer = hold(request).catch((thrown: unknown) => thrown);
      await jest.advanceTimersByTimeAsync(TIMEOUT_MS + 1);
      return answer;
    }

    it('does not keep a slot for a call that was refused meanwhile', async () => {
      expect(await holdLate(slot('a', 'closed'))).toBeInstanceOf(StoreUnavailableError);
      await shared.wake();
      expect(shared.slots.size).toBe(0);
    });

    it('does not keep a slot for a call that is over', async () => {
      expect(await holdLate(slot('a', 'local'))).toMatchObject(granted);
      void leases.release(slot('a'));
      await shared.wake();
      expect(shared.slots.size).toBe(0);
    });

    it('keeps it for a call that goes on by the failure policy', async () => {
      expect(await holdLate(slot('a', 'open'))).toMatchObject(granted);
      await shared.wake();
      expect(shared.slots.has(slot('a'))).toBe(true);
    });
  });
});
