// Text as somebody would send it who wants to see something break. Arbitraries only.
import fc from 'fast-check';

const ADDRESSES = [
  ...['1.2.3.4', '::ffff:1.2.3.4', '::ffff:102:304', '0:0:0:0:0:FFFF:1.2.3.4', '64:ff9b::1.2.3.4'],
  ...[
    '[::1]:80',
    '[::1',
    '::1]',
    'fe80::1%eth0',
    'fe80::1%',
    '1.2.3.4:99999',
    '01.02.03.04',
    '1.2.3',
  ],
  ...[
    '::',
    ':',
    ':::',
    '1::2::3',
    '256.1.1.1',
    '0x7f.1',
    '2130706433',
    '::ffff:1.2.3.456',
    'unknown',
  ],
];
const FORWARDED = [
  'for=1.2.3.4',
  'for="[2001:db8::1]:47"',
  'for=_hidden;by="',
  ';;;=',
  'for=;proto=x',
];
const WORDS = [
  ...[
    '',
    ' ',
    '\t',
    ',',
    ',,,,',
    ';',
    '"',
    "'",
    '\\',
    '%',
    '%00',
    '%zz',
    '%C0%AE',
    '..',
    '../../',
    '//',
  ],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'prototype',
    'undefined',
    'null',
    'NaN',
    'true',
    '[]',
    '{}',
  ],
  ...[
    '0',
    '-0',
    '-1',
    '1e309',
    '9'.repeat(40),
    '0.1',
    '1,5',
    '{{7*7}}',
    '${1}',
    '*',
    '?',
    '$where',
    '|',
    '^',
  ],
  ...['wait=5', 'wait=-1', 'wait=1e9', 'wait="', 'WAIT = 0', 'respond-async, wait=0;x', 'wait=0.5'],
  ...[
    'a'.repeat(300),
    'é',
    'e\u0301',
    '\u{1f642}',
    '\ud800',
    '\ufeff',
    '\u202e',
    'İ',
    'ß',
    '\0',
    '\x7f',
    '\xff',
  ],
];

/** Any text, short ones and known traps first. */
export const hostile: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 3, arbitrary: fc.constantFrom(...ADDRESSES, ...FORWARDED) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ maxLength: 60 }) },
  { weight: 1, arbitrary: fc.ipV6() },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.constantFrom(...WORDS, ...ADDRESSES, ...FORWARDED), { maxLength: 6 })
      .chain((parts) => fc.constantFrom(',', ', ', ';', ' ', '').map((by) => parts.join(by))),
  },
);

/** What a list header may become: thousands of entries. */
export const hostileList = fc.oneof(
  { weight: 9, arbitrary: hostile },
  {
    weight: 1,
    arbitrary: fc.tuple(hostile, fc.nat(3000)).map(([text, n]) => `${text.slice(0, 3)},`.repeat(n)),
  },
);

/** A body, and what it says it is. */
export const hostileBody = fc.record({
  type: fc.constantFrom(
    ...['application/json', 'application/json; charset=x', 'APPLICATION/JSON;', 'text/plain', ''],
    ...[
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/problem+json',
      '/;=',
      'é',
    ],
  ),
  text: fc.oneof(
    fc.record({ email: fc.oneof(hostile, fc.jsonValue()) }).map((value) => JSON.stringify(value)),
    fc.jsonValue().map((value) => JSON.stringify(value)),
    fc.constantFrom(
      '{"__proto__":{"email":"x"}}',
      '{"email":1e999}',
      '{"email":',
      '[[[[',
      '"',
      'null',
      '{"email":{"toString":1}}',
    ),
    fc.nat(500).map((n) => `${'['.repeat(n)}${']'.repeat(n)}`),
    hostile,
  ),
});
