import * as fc from 'fast-check';

import { InvalidLimitError } from '../core/errors';
import { canonicalIp, checkedIpv6Prefix } from './client-ip';

// The expectation comes from a 128-bit integer and the URL parser, not from the code under test.
const word = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.constant(0xffff) },
  { weight: 3, arbitrary: fc.nat(0xffff) },
);
const address = fc.array(word, { minLength: 8, maxLength: 8 });
const ipv4 = fc.ipV4();

const asInteger = (words: number[]) => words.reduce((all, next) => (all << 16n) | BigInt(next), 0n);

function byUrl(value: bigint): string {
  const text = value.toString(16).padStart(32, '0').match(/.{4}/g)!.join(':');
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

function expectedIpv6(words: number[], prefix: number): string {
  const dropped = BigInt(128 - prefix);
  const network = byUrl((asInteger(words) >> dropped) << dropped);
  return prefix === 128 ? network : `${network}/${prefix}`;
}

const MAPPED = 0xffffn;
const TRANSLATED = 0x64ff9b0000000000000000n;
const holdsIpv4 = (words: number[]) => [MAPPED, TRANSLATED].includes(asInteger(words) >> 32n);

/** Any legal spelling of an address: case, zeros, `::` over any run of zeros, dotted tail, zone id, port. */
function spelling(words: number[]): fc.Arbitrary<string> {
  const zeroRuns = words.flatMap((_, start) =>
    words
      .map((__, end) => [start, end + 1] as const)
      .filter(([from, to]) => from < to && words.slice(from, to).every((one) => one === 0)),
  );
  return fc
    .record({
      zeros: fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }),
      upper: fc.boolean(),
      gap: fc.option(zeroRuns.length > 0 ? fc.constantFrom(...zeroRuns) : fc.constant(undefined)),
      dotted: fc.boolean(),
      zone: fc.constantFrom('', '%eth0', '%1', '%25br_lan'),
      frame: fc.constantFrom('bare', 'brackets', 'port'),
    })
    .map(({ zeros, upper, gap, dotted, zone, frame }) => {
      const pieces = words.map((one, i) => '0'.repeat(zeros[i]).concat(one.toString(16)).slice(-4));
      words.forEach((one, i) => {
        if (pieces[i].length < one.toString(16).length) pieces[i] = one.toString(16);
      });
      const withTail = dotted && (gap ? gap[1] <= 6 : true);
      const tail = `${words[6] >> 8}.${words[6] & 255}.${words[7] >> 8}.${words[7] & 255}`;
      const last = withTail ? [...pieces.slice(0, 6), tail] : pieces;
      const text = gap
        ? `${last.slice(0, gap[0]).join(':')}::${last.slice(gap[1]).join(':')}`
        : last.join(':');
      const cased = (upper ? text.toUpperCase() : text) + zone;
      return frame === 'bare' ? cased : frame === 'brackets' ? `[${cased}]` : `[${cased}]:8080`;
    });
}

const spelled = (words: fc.Arbitrary<number[]>) =>
  words.chain((one) => fc.tuple(fc.constant(one), spelling(one)));

describe('canonicalIp', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['1.2.3.4:5678', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['::FFFF:0102:0304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
    ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
    ['::ffff:1.2.3.4%eth0', '1.2.3.4'],
    ['::ffff:1.2.3.5', '1.2.3.5'],
    ['2001:db8::1', '2001:db8::/64'],
    ['2001:DB8:0:0::1', '2001:db8::/64'],
    ['2001:db8:1:1::1', '2001:db8:1:1::/64'],
    ['2001:db8:1:1::2', '2001:db8:1:1::/64'],
    ['2001:db8::1.2.3.4', '2001:db8::/64'],
    ['2001:db8:1:1::1.2.3.4', '2001:db8:1:1::/64'],
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['64:FF9B::102:304', '1.2.3.4'],
    ['64:ff9b:1::1.2.3.4', '64:ff9b:1::/64'],
    ['::1.2.3.4', '::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['[::1]:80', '::/64'],
    ['::1', '::/64'],
    ['::', '::/64'],
  ])('reads %s as %s', (text, expected) => {
    expect(canonicalIp(text)).toBe(expected);
  });

  it.each([
    ['2001:db8::1.2.3.4', '2001:db8::102:304'],
    ['64:ff9b:1::1.2.3.4', '64:ff9b:1::102:304'],
    ['::1.2.3.4', '::102:304'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['::ffff:0:1.2.3.4', '::ffff:0:102:304'],
  ])('keeps all 128 bits of %s: %s', (text, expected) => {
    expect(canonicalIp(text, 128)).toBe(expected);
  });

  it.each([
    undefined,
    '',
    ' ',
    'unknown',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '01.2.3.4',
    '1.2.3.4:',
    '1.2.3.4:http',
    '1.2.3.4:1234567',
    '1.2.3.4%eth0',
    '[1.2.3.4]:80',
    ' 1.2.3.4',
    '1.2.3.4, 5.6.7.8',
    ':::1',
    '1::2::3',
    '::ffff:1.2.3.456',
    '::12345',
    '[::1',
    '::1]',
    '[::1]80',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '/run/app.sock',
    '1'.repeat(1_000_000),
  ])('finds no address in %.40s', (text) => {
    expect(canonicalIp(text)).toBeUndefined();
  });

  it('finds no address in what is no text', () => {
    expect(canonicalIp(16909060 as unknown as string)).toBeUndefined();
    expect(canonicalIp(null as unknown as string)).toBeUndefined();
  });

  it('gives one text for every spelling of an IPv6 address, at every prefix', () => {
    fc.assert(
      fc.property(spelled(address), fc.integer({ min: 1, max: 128 }), ([words, text], prefix) => {
        fc.pre(!holdsIpv4(words));
        expect(canonicalIp(text, prefix)).toBe(expectedIpv6(words, prefix));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['::ffff:0:0/96', [0, 0, 0, 0, 0, 0xffff]],
    ['64:ff9b::/96', [0x64, 0xff9b, 0, 0, 0, 0]],
  ])('finds the IPv4 address in every spelling of %s, at every prefix', (_, before) => {
    const mapped = ipv4.map((text) => {
      const [a, b, c, d] = text.split('.').map(Number);
      return { text, words: [...before, a * 256 + b, c * 256 + d] };
    });
    const cases = mapped.chain(({ text, words }) => fc.tuple(fc.constant(text), spelling(words)));
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 128 }), ([expected, text], prefix) => {
        expect(canonicalIp(text, prefix)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('keeps IPv4 as it is, with or without a port', () => {
    fc.assert(
      fc.property(ipv4, fc.nat(65535), (text, port) => {
        expect(canonicalIp(text)).toBe(text);
        expect(canonicalIp(`${text}:${port}`)).toBe(text);
      }),
    );
  });

  it('never throws and never lets through what is no address', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const found = canonicalIp(text);
        expect(found === undefined || /^[0-9a-f:.]+(\/64)?$/.test(found)).toBe(true);
      }),
    );
  });
});

describe('checkedIpv6Prefix', () => {
  it.each([1, 48, 56, 64, 128])('accepts %d', (prefix) => {
    expect(checkedIpv6Prefix(prefix)).toBe(prefix);
  });

  it.each([0, -1, 129, 64.5, NaN, Infinity, '64', null, undefined])('refuses %p', (prefix) => {
    expect(() => checkedIpv6Prefix(prefix)).toThrow(InvalidLimitError);
    expect(() => checkedIpv6Prefix(prefix)).toThrow(`ipv6Prefix ${String(prefix)}`);
  });
});
