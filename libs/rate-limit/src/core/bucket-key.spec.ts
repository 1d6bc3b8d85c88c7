import fc from 'fast-check';
import { bucketNamer } from './bucket-key';
import { InvalidLimitError } from './errors';

type Triple = readonly [policy: string, scope: string, key: string];

const plain = bucketNamer('rl');
const hashed = bucketNamer('rl', 'secret');

function name([policy, scope, key]: Triple, namer = plain): string {
  return namer.place(policy, scope).bucket(key);
}

// Few characters, so that strings meet; the worst ones, so that they could be mistaken for each other.
const hostile = fc.string({
  unit: fc.constantFrom(
    ':',
    '{',
    '}',
    '~',
    '%',
    ' ',
    '\n',
    '\0',
    '/',
    'a',
    'b',
    '7',
    '3',
    ';',
    '\ud83d',
    '\ude00',
    '😀',
    '\ufffd',
    'é',
    'é',
  ),
  maxLength: 6,
});
const text = fc.oneof(
  { weight: 6, arbitrary: hostile },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '__proto__',
      'constructor',
      '2001:db8::1',
      '{x}',
      '{}',
      'a}b{c',
      '~',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
  // Longer than the longest readable key, and of equal beginning.
  { weight: 1, arbitrary: hostile.map((end) => 'k'.repeat(125) + end) },
);
const policy = fc.stringMatching(/^[a-c][a-c0-1_-]{0,2}$/);
const triple: fc.Arbitrary<Triple> = fc.tuple(policy, text, text);

/** What a UTF-8 client makes of a name: all that the server sees. */
function onTheWire(bucket: string): string {
  return Buffer.from(bucket, 'utf8').toString('latin1');
}

describe.each([
  ['readable', plain],
  ['hashed', hashed],
])('%s bucket names', (_, namer) => {
  it('are one for each (policy, scope, key): no two share one', () => {
    fc.assert(
      fc.property(triple, triple, (a, b) => {
        const same = a.every((part, i) => part === b[i]);
        expect(onTheWire(name(a, namer)) === onTheWire(name(b, namer))).toBe(same);
      }),
      {
        numRuns: 20_000,
        examples: [
          [
            ['a', 'b', 'c'],
            ['a', 'b:c', ''],
          ],
          [
            ['a', '', 'b:c'],
            ['a', 'b', 'c'],
          ],
        ],
      },
    );
  });

  it('are distinct for neighbours: a part moved over a separator, a part lengthened', () => {
    fc.assert(
      fc.property(
        policy,
        text,
        text,
        fc.constantFrom(':', '::', '}', '%3a;', '~'),
        (p, scope, key, between) => {
          const names = [
            [p, scope + between, key],
            [p, scope, between + key],
            [p, scope + between + key, ''],
            [p, '', scope + between + key],
            [p, scope, key + between],
          ] as Triple[];
          const distinct = new Set(names.map((each) => JSON.stringify(each)));
          expect(new Set(names.map((each) => onTheWire(name(each, namer)))).size).toBe(
            distinct.size,
          );
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('have one hash tag, and nothing but a digest stands in it', () => {
    fc.assert(
      fc.property(triple, (each) => {
        const bucket = name(each, namer);
        // As Redis Cluster reads it: from the first { to the first } behind it.
        const open = bucket.indexOf('{');
        const tag = bucket.slice(open + 1, bucket.indexOf('}', open));
        expect(bucket.startsWith('rl:{')).toBe(true);
        expect(tag).toMatch(/^[A-Za-z0-9_-]{1,22}$/);
      }),
      { numRuns: 3000 },
    );
  });

  it('put all buckets of one key into one slot', () => {
    fc.assert(
      fc.property(triple, policy, text, ([p, scope, key], p2, scope2) => {
        const tag = (bucket: string) => bucket.slice(0, bucket.indexOf('}'));
        expect(tag(name([p, scope, key], namer))).toBe(tag(name([p2, scope2, key], namer)));
      }),
    );
  });

  it('stay short for a key of a megabyte, and keep two such apart', () => {
    const huge = 'x'.repeat(2 ** 20);
    const [a, b] = [huge + 'a', huge + 'b'].map((key) => name(['p', 's', key], namer));
    expect(a).not.toBe(b);
    expect(a.length).toBeLessThan(64);
  });

  it('keep lone surrogates apart that Redis would write as the same byte', () => {
    const keys = ['\ud800', '\ud801', '\udfff', '\ufffd', '\ud800\udc00'];
    expect(new Set(keys.map((key) => onTheWire(name(['p', 's', key], namer)))).size).toBe(
      keys.length,
    );
    expect(new Set(keys.map((scope) => onTheWire(name(['p', scope, 'k'], namer)))).size).toBe(
      keys.length,
    );
  });
});

describe('readable bucket names', () => {
  it('show who it is', () => {
    expect(name(['login', 'POST /login#1', 'ip:2001:db8::1'])).toMatch(
      /^rl:\{[0-9a-z]+\}:login:POST%20;\/login#1:ip:2001:db8::1$/,
    );
  });

  it('show keys of 128 characters, and digests of longer ones', () => {
    expect(name(['p', 's', 'k'.repeat(128)])).toContain('k'.repeat(128));
    expect(name(['p', 's', 'k'.repeat(129)])).toMatch(/:~[A-Za-z0-9_-]{22}$/);
  });

  it('never let a key pose as the digest of another', () => {
    const digest = name(['p', 's', 'k'.repeat(129)])
      .split(':')
      .pop() as string;
    expect(name(['p', 's', digest]).split(':').pop()).not.toBe(digest);
  });

  it('spread keys over many hash tags', () => {
    const tags = new Set<string>();
    for (let i = 0; i < 10_000; i++)
      tags.add(name(['p', 's', `ip:10.0.${i >> 8}.${i & 255}`]).split('}')[0]);
    expect(tags.size).toBeGreaterThan(9990);
  });
});

describe('hashed bucket names', () => {
  it('do not contain the key', () => {
    expect(name(['login', 'app', 'alice@example.com'], hashed)).toMatch(
      /^rl:\{[A-Za-z0-9_-]{22}\}:login:app$/,
    );
  });

  it('depend on the secret', () => {
    const each: Triple = ['p', 's', 'k'];
    expect(name(each, bucketNamer('rl', 'a'))).not.toBe(name(each, bucketNamer('rl', 'b')));
  });

  it('are the HMAC-SHA-256 of the key, so that other tools can find a bucket', () => {
    // printf k | iconv -t utf-16le | openssl dgst -sha256 -hmac secret -binary | basenc --base64url
    expect(name(['p', 's', 'k'], hashed)).toBe('rl:{ZkbnF3lITlRd9OYApo7m3J}:p:s');
  });
});

describe('bucketNamer', () => {
  it.each(['', 'a{b}', '{app}', '}', undefined, null, 5])('refuses the prefix %p', (prefix) => {
    expect(() => bucketNamer(prefix as never)).toThrow(InvalidLimitError);
    expect(() => bucketNamer(prefix as never)).toThrow(`keyPrefix ${JSON.stringify(prefix)}`);
  });

  it('keeps two prefixes apart', () => {
    expect(name(['p', 's', 'k'], bucketNamer('a'))).not.toBe(
      name(['p', 's', 'k'], bucketNamer('b')),
    );
  });

  it('knows the name of a place before the key is known', () => {
    const place = plain.place('login', 'POST /login');
    expect(place.name).toBe('login:POST%20;/login');
    expect(plain.place('login', 'app').name).not.toBe(place.name);
  });
});
