import { systemClock } from '../core/clock';
import { StoreUnavailableError } from '../core/errors';
import { MemoryLeases } from '../store/memory/memory-leases';
import type { SlotRequest } from '../store/lease-store';
import type { AnsweringLeases, ResilientSlotRequest, SlotAnswer } from '../store/resilient-port';
import { LeaseKeeper, type Slot } from './lease-keeper';

const LEASE_MS = 900;
const SLOT: Slot = {
  slots: 'k',
  place: 'concurrency limit "exports"',
  max: 1,
  localMax: 1,
  leaseMs: LEASE_MS,
  failureMode: 'local',
};

/** Shared slots, answered for as a test says. */
class FakeLeases implements AnsweringLeases {
  source: 'shared' | 'memory' = 'shared';
  readonly slots = new MemoryLeases(systemClock);
  state: 'up' | 'local' | 'closed' | 'slow' = 'up';
  readonly calls: string[] = [];
  lastId = '';
  /** The answers that a slow store still owes. */
  readonly owed: (() => void)[] = [];

  hold(request: ResilientSlotRequest): SlotAnswer | Promise<SlotAnswer> {
    this.calls.push('hold');
    this.lastId = request.id;
    const { source } = this;
    if (source === 'memory') return { ...this.#held(request), source, degraded: false };
    if (this.state === 'closed') return Promise.reject(new StoreUnavailableError('gone'));
    if (this.state === 'local') {
      return Promise.resolve({ granted: true, inFlight: 1, source: 'local', degraded: true });
    }
    const answer = () => ({ ...this.#held(request), source, degraded: false });
    if (this.state === 'up') return Promise.resolve(answer());
    return new Promise((resolve) => this.owed.push(() => resolve(answer())));
  }

  release(request: ResilientSlotRequest): void {
    this.calls.push('release');
    this.slots.release(request);
  }

  /** Somebody else, now. */
  other(): boolean {
    const request: SlotRequest = { slots: 'k', id: 'other', max: 1, leaseMs: LEASE_MS };
    const { granted } = this.slots.hold(request);
    return granted;
  }

  #held(request: SlotRequest) {
    return this.slots.hold(this.source === 'memory' ? { ...request, leaseMs: Infinity } : request);
  }
}

describe('LeaseKeeper', () => {
  let leases: FakeLeases;
  let keeper: LeaseKeeper;
  let lost: string[];
  let stalledMs: number;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    leases = new FakeLeases();
    stalledMs = 0;
    keeper = new LeaseKeeper(leases, {
      nowMs: () => systemClock.nowMs() + stalledMs,
      monotonicMs: () => systemClock.monotonicMs() + stalledMs,
    });
    lost = [];
  });
  afterEach(() => {
    keeper.close();
    jest.useRealTimers();
  });

  async function pass(ms: number) {
    await jest.advanceTimersByTimeAsync(ms);
    // What a timer puts off to the next turn of the loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
  async function held(slot: Partial<Slot> = {}) {
    const { lease, answer } = await keeper.hold({ ...SLOT, ...slot }, ({ message }) =>
      lost.push(message),
    );
    if (lease === undefined) throw new Error(`refused: ${JSON.stringify(answer)}`);
    return lease;
  }

  it('a refusal has no lease', async () => {
    await held();
    expect(await keeper.hold(SLOT)).toEqual({
      answer: { granted: false, inFlight: 1, source: 'shared', degraded: false },
      lease: undefined,
    });
  });

  it('keeps a slot for much longer than its lease, by a word each third of it', async () => {
    await held();
    await pass(10 * LEASE_MS);
    expect(leases.other()).toBe(false);
    expect(lost).toEqual([]);
    expect(leases.calls).toHaveLength(1 + 30);
  });

  it('a call that is over sooner costs a word at each end', async () => {
    const lease = await held();
    await pass(100);
    await lease.release();
    await lease.release();
    await pass(10 * LEASE_MS);
    expect(leases.calls).toEqual(['hold', 'release']);
    expect(leases.other()).toBe(true);
  });

  it('who dies frees the slot with the lease, not before', async () => {
    await held();
    keeper.close();
    await pass(LEASE_MS - 1);
    expect(leases.other()).toBe(false);
    await pass(1);
    expect(leases.other()).toBe(true);
  });

  it('says words that are almost due along with others', async () => {
    await held({ max: 3 });
    await pass(20);
    await held({ max: 3 });
    await pass(20);
    await held({ max: 3 });
    leases.calls.length = 0;
    await pass(LEASE_MS / 3 - 40);
    expect(leases.calls).toEqual(['hold', 'hold', 'hold']);
  });

  describe('a holder that the store could not be told of', () => {
    it('is told at the end of its lease, while the slot is still nobody else’s', async () => {
      await held({ failureMode: 'closed' });
      leases.state = 'closed';
      await pass(LEASE_MS - 1);
      expect(lost).toEqual([]);
      await pass(1);
      expect(lost).toEqual([
        'a slot of concurrency limit "exports" is lost: its lease of 900 ms ended without a word',
      ]);
      await pass(10 * LEASE_MS);
      expect(lost).toHaveLength(1);
    });

    it('is told even when the store owes the answer to a word', async () => {
      await held();
      leases.state = 'slow';
      await pass(LEASE_MS);
      expect(lost).toHaveLength(1);
    });

    it('counts from when a word was said, not from when it was answered', async () => {
      await held({ failureMode: 'closed' });
      leases.state = 'slow';
      await pass(LEASE_MS / 3);
      await pass(200);
      for (const answer of leases.owed.splice(0)) answer();
      leases.state = 'closed';
      await pass(LEASE_MS - 200 - 1);
      expect(lost).toEqual([]);
      await pass(1);
      expect(lost).toHaveLength(1);
    });

    it('keeps the slot when a word came through in time', async () => {
      await held({ failureMode: 'closed' });
      leases.state = 'closed';
      await pass((2 * LEASE_MS) / 3 + 100);
      leases.state = 'up';
      await pass(10 * LEASE_MS);
      expect(lost).toEqual([]);
    });

    it('goes on by the failure policy, and has its slot again when the store is back', async () => {
      await held();
      leases.state = 'local';
      await pass(5 * LEASE_MS);
      expect(lost).toEqual([]);
      leases.state = 'up';
      await pass(LEASE_MS);
      expect(leases.other()).toBe(false);
    });

    it('goes on by the failure policy, even if others have all slots when the store is back', async () => {
      await held();
      leases.state = 'local';
      await pass(2 * LEASE_MS);
      expect(leases.other()).toBe(true);
      leases.state = 'up';
      await pass(LEASE_MS - 1);
      expect(lost).toEqual([]);
    });
  });

  it('is told when the store has forgotten it and the slot is another’s', async () => {
    await held();
    leases.slots.release({ slots: 'k', id: leases.lastId });
    expect(leases.other()).toBe(true);
    await pass(LEASE_MS / 3);
    expect(lost).toEqual([
      'a slot of concurrency limit "exports" is lost: the store forgot it, and all slots are taken by others',
    ]);
  });

  it('takes its slot again when the store has forgotten it and nobody came', async () => {
    await held();
    leases.slots.release({ slots: 'k', id: leases.lastId });
    await pass(LEASE_MS / 3);
    expect(leases.other()).toBe(false);
    expect(lost).toEqual([]);
  });

  it('is told after a stall that was longer than the lease', async () => {
    await held();
    stalledMs = 10 * LEASE_MS; // the clock moved, and no timer ran
    await pass(LEASE_MS / 3 + 1);
    expect(lost).toHaveLength(1);
  });

  it('releases after the word on its way, so that no slot is taken for nobody', async () => {
    const lease = await held();
    leases.state = 'slow';
    await pass(LEASE_MS / 3);
    const released = lease.release();
    expect(leases.calls).toEqual(['hold', 'hold']);
    for (const answer of leases.owed) answer();
    await released;
    expect(leases.calls).toEqual(['hold', 'hold', 'release']);
    expect(leases.other()).toBe(true);
  });

  it('tells the holders when it is closed', async () => {
    await held();
    keeper.close();
    expect(jest.getTimerCount()).toBe(0);
    expect(lost).toEqual(['a slot of concurrency limit "exports" is lost: the limiter was closed']);
  });

  describe('a holder that may never say that it has ended', () => {
    it('loses its slot after one more lease', async () => {
      const lease = await held();
      await pass(5 * LEASE_MS);
      lease.runOut();
      lease.runOut();
      await pass(LEASE_MS);
      expect(leases.other()).toBe(true);
      expect(leases.calls.filter((call) => call === 'release')).toHaveLength(1);
      expect(lost).toEqual([]);
    });

    it('in memory, too, where leases have no end', async () => {
      leases.source = 'memory';
      const lease = await held();
      await pass(100 * LEASE_MS);
      expect(leases.calls).toEqual(['hold']);
      lease.runOut();
      await pass(LEASE_MS - 1);
      expect(leases.other()).toBe(false);
      await pass(1);
      expect(leases.other()).toBe(true);
    });

    it('or gives it back before', async () => {
      const lease = await held();
      lease.runOut();
      await pass(100);
      await lease.release();
      lease.runOut();
      await pass(2 * LEASE_MS);
      expect(leases.calls.filter((call) => call === 'release')).toHaveLength(1);
    });
  });
});
