import fc from 'fast-check';
import { StoreConfigurationError, StoreUnavailableError } from '../../core/errors';
import { parseLimit } from '../../core/limit';
import { FakeClock } from '../../testing';
import { MemoryStore } from '../memory/memory-store';
import type { BucketCharge } from '../rate-limit-store';
import { bySlot, hashTag } from './slot-groups';
import { TakeInTurn, type TakenCharge } from './take-in-turn';

const LIMIT = parseLimit({ rate: 1, capacity: 5 }, 'test');
const TOKEN = LIMIT.q * 1000;

function charge(bucket: string, tokens = 1, maxWaitUs = 0): BucketCharge {
  return { bucket, place: 'p', limit: LIMIT, price: tokens * TOKEN, maxWaitUs };
}

/** Slots as stores of this process, which a test may break one by one. */
class Slots {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore({ clock: this.clock });
  readonly asked: string[] = [];
  /** By hash tag: what `take` does there instead. `lost`: it charges, and the answer never comes. */
  readonly faults = new Map<string, 'out' | 'lost' | 'late' | Error>();
  wake = () => undefined as void;

  async take(charges: readonly BucketCharge[]) {
    const tag = this.#note('take', charges);
    const fault = this.faults.get(tag);
    if (fault instanceof Error) throw fault;
    if (fault === 'out') throw new StoreUnavailableError('out');
    const outcomes = this.store.take(charges);
    if (fault === 'lost') throw new StoreUnavailableError('lost');
    if (fault === 'late') await new Promise<void>((resolve) => (this.wake = resolve));
    return { outcomes, clockUs: this.clock.nowMs() * 1000 };
  }

  async look(charges: readonly BucketCharge[]) {
    const tag = this.#note('look', charges);
    if (this.faults.has(tag)) throw new StoreUnavailableError('out');
    return this.store.peek(charges).map((each) => ({
      ...each,
      credits: each.granted ? each.held : each.credits,
    }));
  }

  async takeBack(grants: readonly TakenCharge[]) {
    const tag = this.#note('takeBack', grants);
    if (this.faults.has(tag)) throw new StoreUnavailableError('out');
    this.store.giveBack(grants.map((each) => ({ ...each, startsAtUs: each.grantedForUs })));
  }

  turn(charges: readonly BucketCharge[]) {
    return new TakeInTurn(bySlot(charges), this);
  }

  tokens(bucket: string): number {
    return this.store.peek([charge(bucket)])[0].held / TOKEN;
  }

  #note(what: string, [{ bucket }]: readonly BucketCharge[]): string {
    const tag = hashTag(bucket);
    this.asked.push(`${what} ${tag}`);
    return tag;
  }
}

let slots: Slots;
beforeEach(() => (slots = new Slots()));

it('charges one slot after the other, each once', async () => {
  const outcomes = await slots.turn(['{1}a', '{2}a', '{1}b'].map((each) => charge(each))).run();
  expect(slots.asked).toEqual(['take 1', 'take 2']);
  expect(outcomes.map(({ granted, credits }) => [granted, credits / TOKEN])).toEqual([
    [true, 4],
    [true, 4],
    [true, 4],
  ]);
});

it('a refusal takes back what was taken, and tells what there is of all', async () => {
  slots.store.take([charge('{2}a', 5)]);
  slots.store.take([charge('{3}a', 2)]);
  const outcomes = await slots.turn(['{1}a', '{2}a', '{3}a'].map((each) => charge(each))).run();
  expect(slots.asked.slice(0, 3)).toEqual(['take 1', 'take 2', 'takeBack 1']);
  expect(outcomes.map(({ granted, credits }) => [granted, credits / TOKEN])).toEqual([
    [true, 5],
    [false, 0],
    [true, 3],
  ]);
  expect(['{1}a', '{2}a', '{3}a'].map((each) => slots.tokens(each))).toEqual([5, 0, 3]);
});

it('a refusal by the first costs no charge anywhere', async () => {
  slots.store.take([charge('{1}a', 5)]);
  await slots.turn(['{1}a', '{2}a'].map((each) => charge(each))).run();
  expect(slots.asked).toEqual(['take 1', 'look 2']);
});

it.each<[string, 'out' | 'lost', number]>([
  ['is out', 'out', 5],
  // It cannot be known, so it is neither asked again nor returned.
  ['charges and is not heard of', 'lost', 4],
])('a slot that %s: the others get back what they gave', async (_, fault, left) => {
  slots.faults.set('2', fault);
  const run = slots.turn(['{1}a', '{2}a', '{3}a'].map((each) => charge(each))).run();
  await expect(run).rejects.toThrow(StoreUnavailableError);
  expect(slots.asked).toEqual(['take 1', 'take 2', 'takeBack 1']);
  expect(['{1}a', '{2}a', '{3}a'].map((each) => slots.tokens(each))).toEqual([5, left, 5]);
});

it('a slot that refuses us is loud, and the others get back what they gave', async () => {
  const refusal = new StoreConfigurationError('NOPERM');
  slots.faults.set('2', refusal);
  await expect(slots.turn(['{1}a', '{2}a'].map((each) => charge(each))).run()).rejects.toBe(
    refusal,
  );
  expect(slots.tokens('{1}a')).toBe(5);
});

it('a slot that cannot take back keeps what it took, and the refusal stands where it can be told', async () => {
  slots.store.take([charge('{2}a', 5)]);
  const turn = slots.turn(['{1}a', '{2}a'].map((each) => charge(each)));
  slots.takeBack = () => Promise.reject(new StoreUnavailableError('out'));
  expect((await turn.run()).map(({ granted }) => granted)).toEqual([true, false]);
  expect(slots.tokens('{1}a')).toBe(4);
});

it('given up, it takes back at once what was granted, and later what comes late', async () => {
  slots.faults.set('2', 'late');
  const turn = slots.turn(['{1}a', '{2}a', '{3}a'].map((each) => charge(each)));
  const run = turn.run().catch((error: unknown) => error);
  await new Promise(setImmediate);
  expect(['{1}a', '{2}a'].map((each) => slots.tokens(each))).toEqual([4, 4]);
  turn.giveUp();
  await new Promise(setImmediate);
  expect(slots.tokens('{1}a')).toBe(5);
  slots.faults.clear();
  slots.wake();
  expect(await run).toBeInstanceOf(StoreUnavailableError);
  expect(slots.asked).toEqual(['take 1', 'take 2', 'takeBack 1', 'takeBack 2']);
  expect(['{1}a', '{2}a', '{3}a'].map((each) => slots.tokens(each))).toEqual([5, 5, 5]);
});

it('all or nothing, as one call would, for any calls on any slots (model)', async () => {
  const call = fc.uniqueArray(
    fc.record({
      bucket: fc.constantFrom('{1}a', '{1}b', '{2}a', '{3}a', '{4}a'),
      tokens: fc.constantFrom(0.5, 1, 3),
      waitMs: fc.constantFrom(0, 0, 500, 4000),
    }),
    { selector: ({ bucket }) => bucket, minLength: 1 },
  );
  const step = fc.record({ call, passes: fc.constantFrom(0, 0, 300, 2500) });
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 20 }), async (steps) => {
      const [split, whole] = [new Slots(), new Slots()];
      for (const { call: charges, passes } of steps) {
        for (const { clock } of [split, whole]) clock.advance(passes);
        const asked = charges.map(({ bucket, tokens, waitMs }) =>
          charge(bucket, tokens, waitMs * 1000),
        );
        const expected = whole.store.take(asked);
        const outcomes = await split.turn(asked).run();
        const told = (each: (typeof outcomes)[number]) => [each.granted, each.waitUs, each.credits];
        expect(outcomes.map(told)).toEqual(expected.map(told));
        if (!expected.every(({ granted }) => granted)) refused++;
        for (const { bucket } of charges) expect(split.tokens(bucket)).toBe(whole.tokens(bucket));
      }
    }),
    { numRuns: 300 },
  );
  expect(refused).toBeGreaterThan(300);
});
