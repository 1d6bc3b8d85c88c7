// What every store promises, as tests that anyone's own store can run. Knows only the port. One test a promise, to be
// read in a row: that is why the file is long.
import { costThousandths, parseLimit, type Limit } from '../core/limit';
import type { Awaitable, BucketCharge, Outcome, RateLimitStore } from '../store/rate-limit-store';
import { FakeClock } from './fake-clock';
import { globalRunner, type TestRunner } from './test-runner';

/** Makes the store under test. Its time is `clock`'s, so that nothing has to be waited for. */
export type MakeStore = (clock: FakeClock) => Awaitable<RateLimitStore>;

/** 1 token a second, 5 at most; a credit a µs. */
const FIVE: Limit = { rate: 1, capacity: 5 };
const TOKEN = 1e6;
const SECOND_US = 1e6;

/**
 * Declares the tests of the store contract, with the `describe`, `it` and `expect` that are global in Jest and in
 * Vitest with `globals: true`, or with those that are handed in. The bucket names they use are new in every test and share the hash
 * tag of their test, so the store may be one that others use.
 *
 * ```ts
 * storeContract('MyStore', (clock) => new MyStore({ now: () => clock.nowMs() }));
 * ```
 *
 * @param name shown in the report; may be left out
 * @param makeStore called once a test; the store is closed after it
 * @param runner for a runner without globals: `{ describe, it, expect }`
 * @throws Error where no runner is found
 */
export function storeContract(makeStore: MakeStore, runner?: TestRunner): void;
export function storeContract(name: string, makeStore: MakeStore, runner?: TestRunner): void;
export function storeContract(
  ...given: [MakeStore, TestRunner?] | [string, MakeStore, TestRunner?]
): void {
  const [name, makeStore, runner] = isNamed(given) ? given : (['a store', ...given] as const);
  const { describe, it, expect } = runner ?? globalRunner();

  async function withStore(test: (subject: Subject) => Promise<void>): Promise<void> {
    const clock = new FakeClock();
    const store = await makeStore(clock);
    try {
      await test(new Subject(store, clock));
    } finally {
      await store.close?.();
    }
  }
  const promise = (what: string, test: (subject: Subject) => Promise<void>) =>
    it(what, () => withStore(test));

  describe(`store contract: ${name}`, () => {
    promise('an unknown bucket is a full one', async (s) => {
      expect(await s.peek('a')).toEqual({
        granted: true,
        waitUs: 0,
        credits: 4 * TOKEN,
        fullInUs: SECOND_US,
        held: 5 * TOKEN,
        known: false,
      });
    });

    promise('take charges, and says what is left', async (s) => {
      const granted = { granted: true, waitUs: 0 };
      expect(await s.take('a')).toEqual({ ...granted, credits: 4 * TOKEN, fullInUs: SECOND_US });
      expect(await s.take('a', 4)).toEqual({ ...granted, credits: 0, fullInUs: 5 * SECOND_US });
    });

    promise('all of a full bucket can be taken at once, and not a thousandth more', async (s) => {
      expect((await s.take('a', 5)).granted).toBe(true);
      expect((await s.take('a', 0.001)).granted).toBe(false);
    });

    promise('a bucket refills as time passes, to the microsecond', async (s) => {
      await s.take('a', 5);
      s.clock.advance(1234.625);
      expect((await s.peek('a')).held).toBe(1_234_625);
      s.clock.advance(1e9);
      expect(await s.peek('a')).toMatchObject({ held: 5 * TOKEN, known: false });
    });

    promise('refused with a wait, it is refused 1 ms earlier and granted then', async (s) => {
      await s.take('a', 5);
      s.clock.advance(300);
      expect(await s.take('a', 2)).toEqual({
        granted: false,
        waitUs: 1_700_000,
        credits: 300_000,
        fullInUs: 4_700_000,
      });
      s.clock.advance(1699);
      expect(await s.take('a', 2)).toMatchObject({ granted: false, waitUs: 1000 });
      s.clock.advance(1);
      expect((await s.take('a', 2)).granted).toBe(true);
    });

    promise('a refusal changes nothing but elapsed time', async (s) => {
      await s.take('a', 4.5);
      for (let i = 0; i < 20; i++) {
        s.clock.advance(20);
        expect((await s.take('a', 1)).granted).toBe(false);
      }
      expect((await s.peek('a')).held).toBe(0.9 * TOKEN);
    });

    promise('with patience it grants for later, and goes into debt', async (s) => {
      await s.take('a', 5);
      expect(await s.take('a', 2, { maxWaitUs: 2e6 })).toMatchObject({
        granted: true,
        waitUs: 2e6,
      });
      expect(await s.take('a', 1, { maxWaitUs: 2e6 })).toMatchObject({
        granted: false,
        waitUs: 3e6,
        credits: -2 * TOKEN,
        fullInUs: 7e6,
      });
      expect((await s.peek('a')).held).toBe(-2 * TOKEN);
      s.clock.advance(3000);
      expect((await s.take('a')).granted).toBe(true);
    });

    promise('several buckets are charged together', async (s) => {
      const outcomes = await s.takeAll(s.charge('a', 2), s.charge('b', 3));
      expect(outcomes).toEqual([
        { granted: true, waitUs: 0, credits: 3 * TOKEN, fullInUs: 2e6 },
        { granted: true, waitUs: 0, credits: 2 * TOKEN, fullInUs: 3e6 },
      ]);
    });

    promise('all or nothing: if one refuses, none is charged', async (s) => {
      await s.take('b', 4);
      const refused = await s.takeAll(s.charge('a', 2), s.charge('b', 2), s.charge('c', 5));
      expect(refused).toEqual([
        { granted: true, waitUs: 0, credits: 5 * TOKEN, fullInUs: 0 },
        { granted: false, waitUs: 1e6, credits: TOKEN, fullInUs: 4e6 },
        { granted: true, waitUs: 0, credits: 5 * TOKEN, fullInUs: 0 },
      ]);
      for (const bucket of ['a', 'c']) {
        expect(await s.peek(bucket)).toMatchObject({ held: 5 * TOKEN, known: false });
      }
      expect((await s.peek('b')).held).toBe(TOKEN);
    });

    promise('concurrent calls admit what they would one after another', async (s) => {
      const slow: Limit = { rate: 0.001, capacity: 100 };
      const calls = Array.from({ length: 1000 }, () => s.take('a', 1, { limit: slow }));
      const outcomes = await Promise.all(calls);
      expect(outcomes.filter(({ granted }) => granted).length).toBe(100);
    });

    promise('concurrent calls over several buckets charge all or none', async (s) => {
      const slow: Limit = { rate: 0.001, capacity: 10 };
      const pair = (i: number) => [
        s.charge('shared', 1, { limit: slow }),
        s.charge(`own ${i % 2}`, 1),
      ];
      const calls = Array.from({ length: 40 }, (_, i) => s.takeAll(...pair(i)));
      const outcomes = await Promise.all(calls);
      const granted = outcomes.filter((all) => all.every((each) => each.granted));
      expect(granted.length).toBe(10);
      const [a, b] = [await s.peek('own 0'), await s.peek('own 1')];
      expect(a.held + b.held).toBe(0);
    });

    promise('peek tells what take would, and writes nothing', async (s) => {
      await s.take('a', 3);
      for (const [cost, maxWaitUs] of [
        [1, 0],
        [3, 0],
        [3, 1e6],
      ]) {
        const { held, known, ...told } = await s.peek('a', cost, { maxWaitUs });
        expect([held, known]).toEqual([2 * TOKEN, true]);
        expect(await s.peek('a', cost, { maxWaitUs })).toEqual({ ...told, held, known });
        expect(await s.take('a', cost, { maxWaitUs })).toEqual(told);
        await s.store.reset([s.name('a')]);
        await s.take('a', 3);
      }
    });

    promise('peek answers for each bucket alone', async (s) => {
      await s.take('b', 5);
      const peeked = await s.store.peek([s.charge('a'), s.charge('b')]);
      expect(peeked.map(({ granted, held }) => [granted, held])).toEqual([
        [true, 5 * TOKEN],
        [false, 0],
      ]);
    });

    promise('buckets do not influence each other', async (s) => {
      await s.take('a', 5);
      expect((await s.take('b', 5)).granted).toBe(true);
    });

    promise('a bucket is not forgotten before it is full', async (s) => {
      await s.take('a', 5);
      s.clock.advance(4999.875);
      await s.take('b', 1);
      expect(await s.peek('a')).toMatchObject({ known: true, held: 5 * TOKEN - 125 });
    });

    promise(
      'a changed limit keeps whole thousandths of the tokens, within the new capacity',
      async (s) => {
        await s.take('a', 1);
        s.clock.advance(0.5);
        await s.take('a', 1.5); // 2.5005 left
        const thirds: Limit = { rate: 1 / 3, capacity: 10 };
        const thirdsToken = 3 * TOKEN;
        expect(await s.peek('a', 1, { limit: thirds })).toMatchObject({ held: 2.5 * thirdsToken });
        expect((await s.peek('a', 1, { limit: { rate: 7, capacity: 2 } })).known).toBe(false);
        expect(await s.take('a', 2.5, { limit: thirds })).toMatchObject({ granted: true });
        s.clock.advance(3000);
        expect((await s.take('a', 1, { limit: thirds })).granted).toBe(true);
      },
    );

    promise('a limit that became slower is not forgotten as early as the faster one', async (s) => {
      await s.take('a', 5);
      const slow: Limit = { rate: 0.01, capacity: 5 };
      expect((await s.take('a', 1, { limit: slow })).granted).toBe(false);
      s.clock.advance(5000);
      await s.take('b');
      expect((await s.take('a', 1, { limit: slow })).granted).toBe(false);
    });

    promise(
      'a clock that goes back adds nothing, takes nothing and freezes no bucket',
      async (s) => {
        await s.take('a', 4);
        const moment = s.clock.nowMs();
        s.clock.set(moment - 2000);
        expect(await s.peek('a')).toMatchObject({ held: TOKEN, fullInUs: 7e6 });
        s.clock.set(moment + 1000);
        expect((await s.peek('a')).held).toBe(2 * TOKEN);
        s.clock.set(moment - 3_600_000);
        expect(await s.take('a', 3)).toMatchObject({ granted: false, waitUs: 2e6 });
        s.clock.advance(1000);
        expect(await s.take('a', 3)).toMatchObject({ granted: false, waitUs: 1e6 });
        s.clock.advance(1000);
        expect((await s.take('a', 3)).granted).toBe(true);
      },
    );

    promise('a grant that is given back is there again, but never more than full', async (s) => {
      if (s.store.giveBack === undefined) return; // a store may do without
      const charge = s.charge('a', 3, { maxWaitUs: 1e9 });
      const [{ startsAtUs }] = await s.store.take([charge]);
      const grant = { ...charge, startsAtUs: startsAtUs as number };
      await s.take('a', 1);
      await s.store.giveBack([grant]);
      expect((await s.peek('a')).held).toBe(4 * TOKEN);
      await s.store.giveBack([grant]);
      expect(await s.peek('a')).toMatchObject({ held: 5 * TOKEN, known: false });
      await s.store.giveBack([grant]);
      expect((await s.peek('a')).known).toBe(false);
    });

    promise('what is given back does not overtake those who wait behind', async (s) => {
      if (s.store.giveBack === undefined) return;
      await s.take('a', 5);
      const charge = s.charge('a', 2, { maxWaitUs: 1e9 });
      const [{ startsAtUs }] = await s.store.take([charge]); // starts in 2 s
      await s.take('a', 1, { maxWaitUs: 1e9 }); // behind it, in 3 s
      await s.store.giveBack([{ ...charge, startsAtUs: startsAtUs as number }]);
      expect((await s.peek('a')).held).toBe(-2 * TOKEN);
    });

    promise('adjust adds, never above full, and takes without asking', async (s) => {
      if (s.store.adjust === undefined) return;
      const by = (tokens: number) => {
        const { bucket, place, limit } = s.charge('a');
        return { bucket, place, limit, credits: tokens * TOKEN };
      };
      await s.store.adjust([by(1)]);
      expect(await s.peek('a')).toMatchObject({ held: 5 * TOKEN, known: false });
      await s.store.adjust([by(-3), by(-4)]);
      expect((await s.peek('a')).held).toBe(-2 * TOKEN);
      s.clock.advance(1000);
      await s.store.adjust([by(2.5)]);
      expect((await s.peek('a')).held).toBe(1.5 * TOKEN);
      await s.store.adjust([by(9)]);
      expect(await s.peek('a')).toMatchObject({ held: 5 * TOKEN, known: false });
    });

    promise('reset fills buckets, knows unknown ones, and touches no other', async (s) => {
      await s.take('a', 5);
      await s.take('b', 5);
      await s.store.reset([s.name('a'), s.name('never seen')]);
      expect(await s.peek('a')).toMatchObject({ held: 5 * TOKEN, known: false });
      expect((await s.peek('b')).held).toBe(0);
      await s.store.reset([]);
    });
  });
}

function isNamed(
  given: [MakeStore, TestRunner?] | [string, MakeStore, TestRunner?],
): given is [string, MakeStore, TestRunner?] {
  return typeof given[0] === 'string';
}

interface Asked {
  limit?: Limit;
  maxWaitUs?: number;
}

/** One store, its clock, and bucket names that no other test has. */
class Subject {
  readonly #tag = `contract:{${globalThis.crypto.randomUUID()}}`;

  constructor(
    readonly store: RateLimitStore,
    readonly clock: FakeClock,
  ) {}

  name(bucket: string): string {
    return `${this.#tag}:${bucket}`;
  }

  charge(bucket: string, cost = 1, { limit = FIVE, maxWaitUs = 0 }: Asked = {}): BucketCharge {
    const parsed = parseLimit(limit, 'store contract');
    const price = costThousandths(cost) * parsed.q;
    return { bucket: this.name(bucket), place: this.#tag, limit: parsed, price, maxWaitUs };
  }

  async takeAll(...charges: BucketCharge[]) {
    return (await this.store.take(charges)).map(withoutStart);
  }

  async take(bucket: string, cost?: number, asked?: Asked) {
    return (await this.takeAll(this.charge(bucket, cost, asked)))[0];
  }

  async peek(bucket: string, cost?: number, asked?: Asked) {
    const [peeked] = await this.store.peek([this.charge(bucket, cost, asked)]);
    return withoutStart(peeked);
  }
}

/** The moment of a grant for later is the store's own. */
function withoutStart<T extends Outcome>(outcome: T): Omit<T, 'startsAtUs'> {
  const rest = { ...outcome };
  delete (rest as { startsAtUs?: number }).startsAtUs;
  return rest;
}
