// Trial B37 as a law: no two different (policy, scope, key) ever share a bucket, in no store and in no queue, and one is
// always the same. Each has room for one call: the first must pass, whoever else was there before, and no second may.
import fc from 'fast-check';
import { bucketNamer } from '../../src/core/bucket-key';
import { parseLimit } from '../../src/core/limit';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { bucketNumbers } from '../../src/queue/lane';
import { Lanes } from '../../src/queue/lanes';
import { QueueNames } from '../../src/queue/queue-names';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { openRedis } from '../../src/store/redis/redis-client';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from '../support/limiter';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

jest.setTimeout(60_000);

type Triple = readonly [policy: string, scope: string, key: string];

const MEGABYTE = 'x'.repeat(2 ** 20);
/** What other limiters mixed up: separators, what a server or a database folds into one, what poses as something else. */
const HOSTILE = [
  ...[
    ':',
    '::',
    '{',
    '}',
    '{}',
    '{x}',
    'a}b{c',
    '}:',
    '!',
    '~',
    '%',
    '%3a;',
    ' ',
    '\n',
    '\r\n',
    '*',
    '?',
  ],
  ...[
    '\0',
    'a\0',
    'a\0b',
    '\u{1f642}',
    '\u{1f468}\u200d\u{1f469}',
    '\ud83d',
    '\ude42',
    '\ud800',
    '\ufffd',
  ],
  // One letter to the eye: composed and not, ligature, width, case, invisible.
  ...[
    '\u00e9',
    'e\u0301',
    '\u212b',
    '\u00c5',
    'A\u030a',
    '\ufb01',
    'fi',
    '\uff41',
    'a',
    'A',
    'a\u200b',
    '\u0130',
  ],
  ...[
    '__proto__',
    'constructor',
    'undefined',
    'null',
    'NaN',
    '0',
    '-0',
    '1',
    '01',
    '1e0',
    '2001:db8::1',
  ],
  ...['~AAAAAAAAAAAAAAAAAAAAAA', 'overflow:a:app', 'x:probe', 'k'.repeat(128), 'k'.repeat(129)],
];

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...HOSTILE) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom(...HOSTILE.filter(({ length }) => length < 9)), { maxLength: 4 })
      .map((parts) => parts.join('')),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 140 }) },
);
const named = (each: fc.Arbitrary<string>) => each.filter((it) => it !== '');
const triple: fc.Arbitrary<Triple> = fc.tuple(
  fc.constantFrom('a', 'b', 'a-b', 'a_b', 'ab'),
  named(text),
  named(text),
);
const triples = (most: number) =>
  fc.uniqueArray(triple, {
    minLength: 20,
    maxLength: most,
    selector: (each) => JSON.stringify(each),
  });

/** Alike for a megabyte, in each part that a caller may choose. */
const HUGE: readonly Triple[] = ['', '\0'].flatMap((end): Triple[] => [
  ['a', 'app', MEGABYTE + end],
  ['a', MEGABYTE + end, 'k'],
]);

async function expectEachItsOwn(limiter: RateLimiter, all: readonly Triple[]): Promise<void> {
  for (const expected of [true, false]) {
    const decisions = await Promise.all(
      all.map(([name, scope, key]) =>
        limiter.consume(key, { name, rate: 1, per: 'day', capacity: 1 }, { scope }),
      ),
    );
    const others = all.filter((_, i) => decisions[i].allowed !== expected);
    expect(others).toEqual([]);
    // And who it is comes back as it was.
    expect(decisions.map(({ key }) => key)).toEqual(all.map(([, , key]) => key));
  }
}

it('in the memory store', async () => {
  await fc.assert(
    fc.asyncProperty(triples(300), (all) => expectEachItsOwn(limiterOver(new MemoryStore()), all)),
    { numRuns: 30 },
  );
});

it('in the memory store, for texts of a megabyte', async () => {
  await expectEachItsOwn(limiterOver(new MemoryStore()), HUGE);
});

it('in the memory store, for every pair of hostile texts', async () => {
  const short = HOSTILE.filter(({ length }) => length < 200);
  const all = short.flatMap((scope) => short.map((key): Triple => ['a', scope, key]));
  await expectEachItsOwn(limiterOver(new MemoryStore()), all);
});

describe('in Redis', () => {
  const client = openRedis(sharedRedisUrl());
  beforeAll(() => client.connected(2000).then(() => undefined));
  afterAll(() => client.close());

  it('as in memory', async () => {
    const limiters = () =>
      limiterOver(new RedisStore(client), { keyPrefix: uniquePrefix(), timeoutMs: 20_000 });
    await fc.assert(
      fc.asyncProperty(triples(150), (all) => expectEachItsOwn(limiters(), all)),
      { numRuns: 10 },
    );
    await expectEachItsOwn(limiters(), HUGE);
  });
});

describe.each([
  ['readable', undefined],
  ['hashed', 'secret'],
])('in a queue, %s', (_, secret) => {
  const namer = bucketNamer('rl', secret);
  const limit = parseLimit({ rate: 1, capacity: 1 }, 'test');
  const lanesOf = (queue: string, shared: boolean) =>
    new Lanes({
      queue,
      names: new QueueNames('rl', queue),
      startToleranceMs: 25,
      key: undefined,
      tokenOf: (key) => namer.token(key),
      numbers: { bucket: bucketNumbers(limit), share: undefined },
      sharedBucket: shared ? (key) => namer.place('a', 'app').bucket(key) : undefined,
    });

  it.each([false, true])('whose keys share the bucket of a policy: %p', (shared) => {
    fc.assert(
      fc.property(fc.uniqueArray(text, { minLength: 20, maxLength: 200 }), (keys) => {
        const lanes = ['mails', 'mail'].map((queue) => lanesOf(queue, shared));
        const all = lanes.flatMap((each) => keys.map((key) => each.ofKey(key)));
        const onTheWire = (name: string) => Buffer.from(name, 'utf8').toString('latin1');
        const own = all.map((lane) => onTheWire(lane.keys[0]));
        const paid = all.map((lane) => onTheWire(lane.keys[8]));
        expect(new Set(own).size).toBe(2 * keys.length);
        // A shared bucket is one for all queues, and one for each key.
        expect(new Set(paid).size).toBe(shared ? keys.length : 2 * keys.length);
      }),
      { numRuns: 50 },
    );
  });
});
