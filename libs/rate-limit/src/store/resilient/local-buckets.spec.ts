// What answers while the shared store is out, seen through the resilient store.
import {
  InvalidLimitError,
  StoreConfigurationError,
  StoreUnavailableError,
} from '../../core/errors';
import { charge, FakeShared, GONE, tokens } from '../../../test/support/fake-shared-store';
import { FakeClock } from '../../testing';
import type { ResilientCharge } from '../resilient-port';
import { ResilientStore } from './resilient-store';

describe('a resilient store in an outage', () => {
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

  describe('without the shared store', () => {
    it('local: this process limits alone', async () => {
      await breakStore();
      const two = charge({ limit: { rate: 0.001, capacity: 2 } });
      const answers = [await take(two), await take(two), await take(two)];
      expect(answers.map(({ outcomes }) => outcomes[0].granted)).toEqual([true, true, false]);
      expect(answers[2]).toMatchObject({ source: 'local', degraded: true });
      expect((await store.peek([two])).outcomes[0]).toMatchObject({ granted: false, held: 0 });
    });

    it('open: everything passes, and nothing is counted', async () => {
      await breakStore();
      const one = charge({ mode: 'open', limit: { rate: 0.001, capacity: 1 } });
      for (let i = 0; i < 5; i++) {
        expect(await take(one)).toMatchObject({
          degraded: true,
          outcomes: [{ granted: true, fullInUs: 0 }],
        });
      }
    });

    it('closed: one closed charge refuses the call, and nothing is charged', async () => {
      await breakStore();
      await expect(take(charge({}), charge({ bucket: 'login', mode: 'closed' }))).rejects.toThrow(
        'the rate limit store is out and place of login is closed without it',
      );
      expect((await store.peek([charge({})])).outcomes[0].known).toBe(false);
      await expect(store.peek([charge({ mode: 'closed' })])).rejects.toThrow(StoreUnavailableError);
    });

    it('is all or nothing over local charges, beside open ones', async () => {
      await breakStore();
      const [plenty, open] = [
        charge({ bucket: 'plenty' }),
        charge({ bucket: 'open', mode: 'open' }),
      ];
      const few = charge({ bucket: 'few', limit: { rate: 0.001, capacity: 1 } });
      expect((await take(plenty, open, few)).outcomes.map(({ granted }) => granted)).toEqual([
        true,
        true,
        true,
      ]);
      expect((await take(plenty, open, few)).outcomes.map(({ granted }) => granted)).toEqual([
        true,
        true,
        false,
      ]);
      expect(tokens((await store.peek([plenty])).outcomes[0].held, plenty)).toBe(9);
    });

    it('resets nothing: reset needs the store', async () => {
      await breakStore();
      await take(charge({ cost: 10 }));
      await expect(store.reset(['b'])).rejects.toThrow(StoreUnavailableError);
      expect((await take(charge({}))).outcomes[0].granted).toBe(false);
    });

    it('throws what is no outage, whatever the mode', async () => {
      for (const error of [new StoreConfigurationError('NOPERM'), new InvalidLimitError('x')]) {
        shared.state = error;
        for (let i = 0; i < 5; i++)
          await expect(take(charge({ mode: 'open' }))).rejects.toBe(error);
      }
      expect(changes).toEqual([]);
    });
  });

  describe('local buckets', () => {
    it('start from what this process last saw', async () => {
      await take(charge({ cost: 7 }));
      await breakStore();
      expect(tokens((await take(charge({}))).outcomes[0].credits, charge({}))).toBe(2);
    });

    it('stay spent while the store flaps, and never write back', async () => {
      const one = charge({});
      for (let round = 0; round < 3; round++) {
        await breakStore();
        expect((await take(charge({ cost: 3 }))).outcomes[0].granted).toBe(true);
        shared.state = 'up';
        await jest.advanceTimersByTimeAsync(250);
        expect(tokens((await store.peek([one])).outcomes[0].held, one)).toBe(10);
      }
      await breakStore();
      expect((await take(charge({ cost: 3 }))).outcomes[0].granted).toBe(false);
      expect((await take(one)).outcomes[0].granted).toBe(true);
    });

    it('are reset with the shared ones', async () => {
      await take(charge({ cost: 10 }));
      await store.reset(['b']);
      await breakStore();
      expect((await take(charge({ cost: 10 }))).outcomes[0].granted).toBe(true);
    });

    it('have their share of the limit, and speak of the whole one', async () => {
      const half = { local: { rate: 0.0005, capacity: 5 } };
      await take(charge({ ...half, cost: 2 })); // 8 of 10 left, more than the local 5
      await breakStore();
      const one = charge(half);
      const left: number[] = [];
      for (let i = 0; i < 6; i++) {
        const [{ granted, credits }] = (await take(one)).outcomes;
        left.push(granted ? tokens(credits, one) : -1);
      }
      expect(left).toEqual([4, 3, 2, 1, 0, -1]);
      const [{ waitUs, fullInUs }] = (await take(one)).outcomes;
      expect([waitUs, fullInUs]).toEqual([2e9, 1e10]); // one token, five tokens at 0.0005 a second
    });

    it('take over levels of another unit down to a thousandth of a token', async () => {
      const third = charge({
        cost: 9,
        limit: { rate: 1 / 3, capacity: 10 },
        local: { rate: 1 / 30, capacity: 10 },
      });
      await take(third);
      clock.advance(1); // a third of a thousandth of a token
      await breakStore();
      const [{ held }] = (await store.peek([third])).outcomes;
      expect(tokens(held, third)).toBe(1);
    });

    it('refuse with an error what they could never let pass', async () => {
      const expensive = charge({ cost: 6, local: { rate: 0.0005, capacity: 5 } });
      expect((await take(expensive)).outcomes[0].granted).toBe(true);
      await breakStore();
      await expect(take(expensive)).rejects.toThrow(
        'the rate limit store is out and the local share of place of b is smaller than the cost of this call',
      );
      await expect(take(expensive)).rejects.toThrow(StoreUnavailableError);
    });

    it('are bounded', async () => {
      const small = new ResilientStore(shared, { timeoutMs: 250, clock, maxBuckets: 10 });
      shared.state = GONE;
      const granted: boolean[] = [];
      for (let i = 0; i < 40; i++) {
        const one = { ...charge({ bucket: `k${i}` }), place: 'p' };
        granted.push((await small.take([one])).outcomes[0].granted);
      }
      expect(granted.filter(Boolean).length).toBe(20); // ten of their own, ten of the shared overflow
      await small.close();
    });
  });
});
