import { systemClock } from '../../core/clock';
import { StoreUnavailableError } from '../../core/errors';
import { parseLimit } from '../../core/limit';
import type { BucketCharge } from '../rate-limit-store';
import * as scripts from './lua.generated';
import { ServerClock } from './server-clock';
import { TakeCalls } from './take-calls';

const limit = parseLimit({ rate: 10, capacity: 20 }, 'test');
const TOKEN = 100_000;
const FULL = 20 * TOKEN;

let nowMs: number;
beforeEach(() => {
  nowMs = 5000;
  jest.spyOn(systemClock, 'monotonicMs').mockImplementation(() => nowMs);
});
afterEach(() => jest.restoreAllMocks());

function charge(bucket: string, tokens = 1, of = limit): BucketCharge {
  return { bucket, place: 'p', limit: of, price: tokens * of.q * 1000, maxWaitUs: 0 };
}

/** A client whose calls are answered by hand. */
function heldClient(isCluster = false) {
  const calls: {
    sha: unknown;
    keys: string[];
    args: unknown[];
    answer: (reply: unknown) => void;
    fail: (error: Error) => void;
  }[] = [];
  const client = {
    isCluster,
    evalsha: (sha: string, count: number, ...rest: (string | number)[]) =>
      new Promise((answer, fail) => {
        // The second half of the keys is what may be configured for the first.
        const keys = rest.slice(0, count / 2).map(String);
        calls.push({ sha, keys, args: rest.slice(count), answer, fail });
      }),
    eval: () => Promise.reject(new Error('not asked')),
    del: () => Promise.resolve(),
  };
  return { calls, client };
}

function started({
  giveUpAfterMs,
  isCluster,
}: { giveUpAfterMs?: number; isCluster?: boolean } = {}) {
  const { calls, client } = heldClient(isCluster);
  const serverClock = new ServerClock(0);
  const takes = new TakeCalls({ client, serverClock, giveUpAfterMs, givenUs: () => '' });
  return { calls, takes };
}

/** A call and its end, once it has one. */
function follow(promise: Promise<unknown>) {
  const followed: { value?: unknown; error?: unknown } = {};
  promise.then(
    (value) => (followed.value = value),
    (error: unknown) => (followed.error = error),
  );
  return followed;
}

const settled = () => new Promise(setImmediate);
const full = (buckets: number) => [nowMs * 1000, ...Array.from({ length: buckets }, () => FULL)];

it('a lone call leaves in the same tick, in the small script', async () => {
  const { calls, takes } = started();
  const taken = takes.take([charge('a')]);
  await new Promise((resolve) => process.nextTick(resolve));
  expect(calls).toMatchObject([{ sha: scripts.take.sha1, keys: ['a'] }]);
  calls[0].answer(full(1));
  expect(await taken).toMatchObject([{ granted: true, credits: 19 * TOKEN }]);
});

it('calls of one tick leave together', async () => {
  const { calls, takes } = started();
  const all = ['a', 'b', 'a'].map((bucket) => takes.take([charge(bucket)]));
  await settled();
  expect(calls).toMatchObject([{ sha: scripts.takeMany.sha1, keys: ['a', 'b'] }]);
  // One shape: runs of two on the first bucket, of one on the second.
  const { n, q, capacity, fingerprint } = limit;
  expect(calls[0].args.slice(2)).toEqual([
    ...[1, 2, 0],
    ...[n, q, capacity, fingerprint, TOKEN, 0],
    ...[2, 1],
    ...[1, 2],
  ]);
  calls[0].answer(full(2));
  const credits = (await Promise.all(all)).map(([outcome]) => outcome.credits / TOKEN);
  expect(credits).toEqual([19, 19, 18]);
});

it('different buckets of one shape are named once, without a number each', async () => {
  const { calls, takes } = started();
  void ['a', 'b', 'c'].map((bucket) => takes.take([charge(bucket)]));
  await settled();
  expect(calls[0].args.slice(2, 5)).toEqual([1, 3, 1]);
  expect(calls[0].args).toHaveLength(2 + 3 + 6);
});

it('three are on their way at most; what comes meanwhile leaves with the next reply', async () => {
  const { calls, takes } = started();
  for (const bucket of ['a', 'b', 'c', 'd', 'e']) {
    follow(takes.take([charge(bucket)]));
    await settled();
  }
  expect(calls.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c']]);
  calls[1].answer(full(1));
  await settled();
  expect(calls.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c'], ['d', 'e']]);
});

it('where the way is long, a call waits no longer than a few ms, though nobody else comes', async () => {
  const { calls, takes } = started();
  for (const bucket of ['a', 'b', 'c', 'd']) {
    follow(takes.take([charge(bucket)]));
    await settled();
  }
  expect(calls).toHaveLength(3);
  nowMs += 6;
  while (calls.length < 4) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(calls[3].keys).toEqual(['d']);
});

it('a script is given no more than 128 buckets and 1024 calls', async () => {
  const { calls, takes } = started();
  for (let i = 0; i < 1500; i++) follow(takes.take([charge('hot')]));
  for (let i = 0; i < 200; i++) follow(takes.take([charge(`key ${i}`)]));
  await settled();
  for (const { keys } of calls) expect(keys.length).toBeLessThanOrEqual(128);
  expect(calls[0].args[11]).toBe(1024);
});

it('calls with other numbers of a bucket do not go together', async () => {
  const { calls, takes } = started();
  const other = parseLimit({ rate: 10, capacity: 30 }, 'test');
  follow(takes.take([charge('a')]));
  follow(takes.take([charge('a', 1, other)]));
  follow(takes.take([charge('b')]));
  await settled();
  expect(calls.map(({ keys }) => keys)).toEqual([['a', 'b'], ['a']]);
});

it('on a cluster only calls of one slot go together, and none waits for another', async () => {
  const { calls, takes } = started({ isCluster: true });
  for (const bucket of ['{1}a', '{2}a', '{1}b', '{3}a', '{4}a', '{5}a'])
    follow(takes.take([charge(bucket)]));
  await settled();
  expect(calls.map(({ keys }) => keys)).toEqual([
    ['{1}a', '{1}b'],
    ['{2}a'],
    ['{3}a'],
    ['{4}a'],
    ['{5}a'],
  ]);
});

describe('with a deadline', () => {
  const giveUpAfterMs = 250;

  it('what waited longer than anybody waits for it is not sent', async () => {
    const { calls, takes } = started({ giveUpAfterMs });
    for (const bucket of ['a', 'b', 'c']) {
      follow(takes.take([charge(bucket)]));
      await settled();
    }
    const old = follow(takes.take([charge('d')]));
    // Our event loop is stalled.
    nowMs += 249;
    const young = follow(takes.take([charge('e')]));
    nowMs += 1;
    calls[0].answer(full(1));
    await settled();
    expect(calls.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c'], ['e']]);
    expect(old.error).toBeInstanceOf(StoreUnavailableError);
    expect(young).toEqual({});
  });

  it('a reply that is on its way for long holds nobody up', async () => {
    const { calls, takes } = started({ giveUpAfterMs });
    for (const bucket of ['a', 'b', 'c', 'd']) {
      follow(takes.take([charge(bucket)]));
      await settled();
    }
    nowMs += 5;
    follow(takes.take([charge('e')]));
    await settled();
    expect(calls.map(({ keys }) => keys)).toEqual([['a'], ['b'], ['c'], ['d', 'e']]);
    // A reply that comes after all frees no place twice.
    for (const bucket of ['f', 'g', 'h']) {
      follow(takes.take([charge(bucket)]));
      await settled();
    }
    calls[0].answer(full(1));
    await settled();
    expect(calls.map(({ keys }) => keys).slice(4)).toEqual([['f'], ['g']]);
  });

  it('the server is told the time of the oldest', async () => {
    const { calls, takes } = started({ giveUpAfterMs });
    follow(takes.take([charge('a')]));
    nowMs += 10;
    follow(takes.take([charge('b')]));
    await settled();
    expect(calls[0].args[0]).toBe(5000 + 225);
  });

  it('what the server held for too late is asked once more, and only by those who still wait', async () => {
    const { calls, takes } = started({ giveUpAfterMs });
    const ends = ['a', 'b'].map((bucket) => follow(takes.take([charge(bucket)])));
    await settled();
    nowMs += 10;
    calls[0].answer([nowMs * 1000]);
    await settled();
    expect(calls.map(({ keys }) => keys)).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    calls[1].answer([nowMs * 1000]);
    await settled();
    expect(calls).toHaveLength(2);
    for (const { error } of ends) {
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(String(error)).toContain('nothing was charged');
    }
  });
});

it('an error is that of the calls it came for, and of no other', async () => {
  const { calls, takes } = started();
  const first = follow(takes.take([charge('a')]));
  await settled();
  const others = ['b', 'c'].map((bucket) => follow(takes.take([charge(bucket)])));
  await settled();
  calls[1].fail(new Error('Connection is closed.'));
  calls[0].answer(full(1));
  await settled();
  expect(first).toMatchObject({ value: [{ granted: true }] });
  for (const { error } of others) expect(error).toBeInstanceOf(StoreUnavailableError);
});
