import {
  StoreConfigurationError,
  StoreTimeoutError,
  StoreUnavailableError,
} from '../../core/errors';
import { charge, FakeShared, GONE } from '../../../test/support/fake-shared-store';
import { FakeClock } from '../../testing';
import { MemoryStore } from '../memory/memory-store';
import type { RateLimitStore } from '../rate-limit-store';
import type { ResilientCharge } from '../resilient-port';
import { ResilientStore } from './resilient-store';

describe('ResilientStore', () => {
  let clock: FakeClock;
  let shared: FakeShared;
  let store: ResilientStore;
  let changes: (string | undefined)[];

  beforeEach(() => {
    jest.useFakeTimers();
    clock = new FakeClock();
    shared = new FakeShared(clock);
    changes = [];
    const onChange = (cause?: Error) => changes.push(cause?.message);
    store = new ResilientStore(shared, { timeoutMs: 250, clock, onChange });
  });
  afterEach(async () => {
    await store.close();
    jest.useRealTimers();
  });

  const take = async (...charges: ResilientCharge[]) => store.take(charges);
  async function breakStore(state: FakeShared['state'] = GONE) {
    shared.state = state;
    for (let i = 0; i < 3; i++) await take(charge({ bucket: 'other', mode: 'open' }));
    shared.calls = [];
  }

  describe('over a store of this process', () => {
    it('answers as it does, at once, and asks nothing of the failure modes', () => {
      const memory = new ResilientStore(new MemoryStore({ clock }), { timeoutMs: 250 });
      const one = charge({ mode: 'closed' });
      expect(memory.source).toBe('memory');
      expect(memory.take([one])).toMatchObject({ source: 'memory', degraded: false });
      expect(memory.peek([one])).toMatchObject({ source: 'memory', outcomes: [{ known: true }] });
      expect(jest.getTimerCount()).toBe(0);
    });

    it('waits for one that answers later', async () => {
      const buckets = new MemoryStore({ clock });
      const later: RateLimitStore = {
        source: 'memory',
        take: (charges) => Promise.resolve(buckets.take(charges)),
        peek: (charges) => Promise.resolve(buckets.peek(charges)),
        reset: (names) => Promise.resolve(buckets.reset(names)),
      };
      const resilient = new ResilientStore(later, { timeoutMs: 250 });
      expect(await resilient.take([charge({})])).toMatchObject({
        source: 'memory',
        degraded: false,
      });
      await resilient.reset(['b']);
      expect(await resilient.peek([charge({})])).toMatchObject({ outcomes: [{ known: false }] });
    });
  });

  describe('while the shared store is there', () => {
    it('hands its answers on, denials too', async () => {
      const all = charge({ cost: 10 });
      expect(await take(all)).toMatchObject({ source: 'shared', degraded: false });
      expect((await take(all)).outcomes[0].granted).toBe(false);
      expect((await store.peek([all])).outcomes[0]).toMatchObject({ held: 0, known: true });
      await store.reset(['b']);
      expect((await take(all)).outcomes[0].granted).toBe(true);
      expect(changes).toEqual([]);
    });

    it('never answers a denial from the local buckets (B33)', async () => {
      const one = charge({
        limit: { rate: 0.001, capacity: 2 },
        local: { rate: 100, capacity: 100 },
      });
      const answers = [await take(one), await take(one), await take(one)];
      expect(answers.map(({ outcomes }) => outcomes[0].granted)).toEqual([true, true, false]);
      expect(answers.every(({ source, degraded }) => source === 'shared' && !degraded)).toBe(true);
    });

    it('takes one lost answer for one lost answer, not for an outage', async () => {
      shared.state = GONE;
      expect(await take(charge({}))).toMatchObject({ source: 'local', degraded: true });
      expect(await take(charge({}))).toMatchObject({ source: 'local', degraded: true });
      shared.state = 'up';
      expect(await take(charge({}))).toMatchObject({ source: 'shared', degraded: false });
      expect(changes).toEqual([]);
    });
  });

  describe('the deadline', () => {
    it('answers by the failure mode after 250 ms of silence', async () => {
      shared.state = 'hanging';
      const answer = take(charge({}));
      const closed = take(charge({ mode: 'closed' })).catch((error: unknown) => error);
      let settled = 0;
      void answer.then(() => settled++);
      await jest.advanceTimersByTimeAsync(249);
      expect(settled).toBe(0);
      await jest.advanceTimersByTimeAsync(2);
      expect(settled).toBe(1);
      expect(await answer).toMatchObject({ source: 'local', degraded: true });
      const refusal = (await closed) as StoreUnavailableError;
      expect(refusal).toBeInstanceOf(StoreUnavailableError);
      expect(refusal.message).toBe(
        'the rate limit store is out and place of b is closed without it',
      );
      expect(refusal.cause).toBeInstanceOf(StoreTimeoutError);
      expect((refusal.cause as Error).message).toBe(
        'the rate limit store did not answer within 250 ms',
      );
    });

    it('holds for reset, which needs the store', async () => {
      shared.state = 'hanging';
      const failed = store.reset(['b']).catch((error: unknown) => error);
      await jest.advanceTimersByTimeAsync(251);
      expect(await failed).toBeInstanceOf(StoreTimeoutError);
    });

    it('ignores an answer that comes later, but for what it shows of the bucket', async () => {
      let late!: (value: never) => void;
      jest.spyOn(shared, 'take').mockReturnValueOnce(new Promise((resolve) => (late = resolve)));
      const answer = take(charge({}));
      await jest.advanceTimersByTimeAsync(251);
      expect((await answer).source).toBe('local');
      late([{ granted: true, waitUs: 0, credits: 0, fullInUs: 1 }] as never);
      await jest.advanceTimersByTimeAsync(1);
      shared.state = GONE;
      expect((await take(charge({}))).outcomes[0].granted).toBe(false);
    });
  });

  describe('an outage', () => {
    it('is told once, asks nobody meanwhile, and ends with a probe, told once', async () => {
      await breakStore();
      expect(changes).toEqual(['the rate limit store failed: Error: Connection is closed.']);
      for (let i = 0; i < 5; i++) await take(charge({}));
      expect(shared.calls).toEqual([]);
      await jest.advanceTimersByTimeAsync(1000);
      expect(shared.calls).toEqual(Array(4).fill('take other:probe'));
      shared.state = 'up';
      expect((await take(charge({}))).source).toBe('local');
      await jest.advanceTimersByTimeAsync(250);
      expect((await take(charge({}))).source).toBe('shared');
      expect(changes).toHaveLength(2);
      expect(changes[1]).toBeUndefined();
    });

    it('begins with the third failure in a row, however many fail at once', async () => {
      shared.state = 'hanging';
      const many = Array.from({ length: 50 }, () => take(charge({ mode: 'open' })));
      await jest.advanceTimersByTimeAsync(251);
      await Promise.all(many);
      expect(changes).toEqual(['the rate limit store did not answer within 250 ms']);
      shared.calls = [];
      await jest.advanceTimersByTimeAsync(250);
      expect(shared.calls).toEqual(['take b:probe']);
    });

    it('probes a hanging store one probe at a time', async () => {
      await Promise.all([breakStore('hanging'), jest.advanceTimersByTimeAsync(1000)]);
      shared.calls = [];
      await jest.advanceTimersByTimeAsync(5000);
      expect(shared.calls.length).toBeGreaterThanOrEqual(9);
      expect(shared.calls.length).toBeLessThanOrEqual(11);
      shared.state = 'up';
      await jest.advanceTimersByTimeAsync(510);
      expect((await take(charge({}))).source).toBe('shared');
    });

    it('does not end while the store can only be read', async () => {
      shared.readable = true;
      shared.state = new StoreUnavailableError(
        "READONLY You can't write against a read only replica.",
      );
      for (let i = 0; i < 3; i++) {
        await store.peek([charge({})]); // answers, and proves nothing
        await take(charge({}));
      }
      expect(changes).toHaveLength(1);
      await jest.advanceTimersByTimeAsync(3000);
      expect(changes).toHaveLength(1);
      shared.state = 'up';
      await jest.advanceTimersByTimeAsync(250);
      expect(changes).toHaveLength(2);
    });

    it('is told once of a store that is full, whatever refusals it still answers', async () => {
      const drained = charge({ cost: 10 });
      await take(drained);
      const answer = shared.take.bind(shared);
      jest.spyOn(shared, 'take').mockImplementation(async (charges) => {
        const taken = await answer(charges);
        // A refusal writes nothing, so a full Redis answers it.
        if (taken[0].granted) throw new StoreUnavailableError('Redis is out: OOM');
        return taken;
      });
      for (let i = 0; i < 5; i++) {
        const fresh = [1, 2, 3].map((n) => take(charge({ bucket: `${i} ${n}` })));
        await Promise.all([...fresh, take(drained)]);
      }
      expect(changes).toEqual(['Redis is out: OOM']);
    });

    it('ends where the store refuses us: the next call hears it', async () => {
      await breakStore();
      shared.state = new StoreConfigurationError('NOAUTH');
      await jest.advanceTimersByTimeAsync(250);
      await expect(take(charge({}))).rejects.toThrow('NOAUTH');
    });

    it('charges nothing of anybody with its probes', async () => {
      await breakStore();
      shared.state = 'up';
      await jest.advanceTimersByTimeAsync(250);
      const [other] = (await store.peek([charge({ bucket: 'other' })])).outcomes;
      expect(other.known).toBe(false);
    });
  });

  describe('a store that knows that it is refused', () => {
    const refusal = new StoreConfigurationError('WRONGPASS');
    let refused: StoreConfigurationError | undefined;
    beforeEach(() => {
      refused = undefined;
      (shared as RateLimitStore).refusal = () => refused;
    });

    it('is not asked, and what it says is told to everybody, whatever the failure mode', async () => {
      refused = refusal;
      await expect(take(charge({ mode: 'open' }))).rejects.toBe(refusal);
      await expect(store.reset(['b'])).rejects.toBe(refusal);
      expect(shared.calls).toEqual([]);
      refused = undefined;
      expect(await take(charge({}))).toMatchObject({ source: 'shared' });
      expect(changes).toEqual([]);
    });

    it('was refused where a call only saw an outage, or no answer', async () => {
      shared.state = new StoreUnavailableError('no connection');
      const failed = take(charge({ mode: 'open' }));
      refused = refusal;
      await expect(failed).rejects.toBe(refusal);
      refused = undefined;
      shared.state = 'hanging';
      const hung = take(charge({ mode: 'open' })).catch((error: unknown) => error);
      await jest.advanceTimersByTimeAsync(100);
      refused = refusal;
      await jest.advanceTimersByTimeAsync(151);
      expect(await hung).toBe(refusal);
    });

    it('ends an outage: the next call hears it', async () => {
      await breakStore();
      refused = refusal;
      await jest.advanceTimersByTimeAsync(250);
      await expect(take(charge({ mode: 'open' }))).rejects.toBe(refusal);
    });
  });

  describe('close', () => {
    it('closes the inner store, ends open waits and leaves no timer', async () => {
      await breakStore();
      shared.state = 'up';
      await jest.advanceTimersByTimeAsync(250);
      shared.state = 'hanging';
      const waiting = take(charge({}));
      await store.close();
      expect((await waiting).source).toBe('local');
      expect(shared.closed).toBe(1);
      await jest.advanceTimersByTimeAsync(1); // an immediate that was on its way
      expect(jest.getTimerCount()).toBe(0);
    });

    it('ends the probing of an outage for good, a probe on its way included', async () => {
      await breakStore();
      shared.state = 'hanging';
      await jest.advanceTimersByTimeAsync(260);
      expect(shared.calls).toEqual(['take other:probe']);
      await store.close();
      await jest.advanceTimersByTimeAsync(5000);
      expect(shared.calls).toEqual(['take other:probe']);
      expect(jest.getTimerCount()).toBe(0);
    });

    it('starts no probe for calls that fail afterwards', async () => {
      await store.close();
      await breakStore();
      expect(jest.getTimerCount()).toBeLessThanOrEqual(1); // the deadline's
      shared.calls = [];
      await jest.advanceTimersByTimeAsync(5000);
      expect(shared.calls).toEqual([]);
    });
  });
});
