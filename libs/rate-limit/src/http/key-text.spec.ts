import * as fc from 'fast-check';

import { InvalidLimitError, MissingKeyError } from '../core/errors';
import { allOfKey, bodyKey, headerKey, ipKey, tenantKey, userKey } from './key-text';

describe('keys by hand', () => {
  it('are readable and carry their kind', () => {
    expect(ipKey('1.2.3.4')).toBe('ip:1.2.3.4');
    expect(ipKey('2001:DB8::1')).toBe('ip:2001:db8::/64');
    expect(ipKey('2001:DB8::1', { ipv6Prefix: 128 })).toBe('ip:2001:db8::1');
    expect(headerKey('X-Api-Key', ' abc ')).toBe('header:x-api-key:abc');
    expect(userKey('id', 5)).toBe('user:id:5');
    expect(userKey('id', 5n)).toBe('user:id:5');
    expect(tenantKey('acme')).toBe('tenant:acme');
    expect(bodyKey('email', ' Ada@Example.org ')).toBe('body:email:ada@example.org');
    expect(allOfKey('ip:1.2.3.4', 'user:id:5')).toBe('all:10:ip:1.2.3.4,9:user:id:5,');
  });

  it.each([
    ['ipKey', () => ipKey('nonsense')],
    ['headerKey', () => headerKey('x-api-key', '  ')],
    ['userKey', () => userKey('id', undefined)],
    ['tenantKey', () => tenantKey(null)],
    ['bodyKey', () => bodyKey('email', 'x'.repeat(257))],
  ])('%s throws MissingKeyError when there is nothing to make a key of', (_, make) => {
    expect(make).toThrow(MissingKeyError);
  });

  it.each([
    ['ipv6Prefix 0', () => ipKey('::1', { ipv6Prefix: 0 })],
    ['byHeader("x:y")', () => headerKey('x:y', 'a')],
    ['byHeader("")', () => headerKey('', 'a')],
    ['byUser("a:b")', () => userKey('a:b', 1)],
    ['byBody("")', () => bodyKey('', 'a')],
  ])('names the option and the value: %s', (message, make) => {
    expect(make).toThrow(InvalidLimitError);
    expect(make).toThrow(message);
  });

  it('are one for every way to type an account', () => {
    const composed = bodyKey('name', 'Zo\u00eb');
    expect(bodyKey('name', ' ZOE\u0308')).toBe(composed);
    expect(composed).toBe('body:name:zo\u00eb');
  });

  it('never cut: long values that differ late are two keys', () => {
    const long = 'k'.repeat(1_000_000);
    expect(headerKey('x-api-key', `${long}a`)).not.toBe(headerKey('x-api-key', `${long}b`));
  });

  it('differ whenever kind, name or value differ', () => {
    const name = fc.stringMatching(/^[a-z-]{1,3}$/);
    // Values that try to look like another kind.
    const value = fc
      .array(
        fc.constantFrom('ip:', 'header:', 'user:', 'body:', 'all:', 'a', ':', '1.2.3.4', '%', ','),
        {
          minLength: 1,
          maxLength: 5,
        },
      )
      .map((pieces) => pieces.join(''));
    const key = fc.oneof(
      fc.tuple(fc.constant('ip'), fc.constant(''), fc.ipV4()),
      fc.tuple(fc.constantFrom('header', 'user', 'body'), name, value),
      fc.tuple(fc.constant('tenant'), fc.constant(''), value),
    );
    const make = ([kind, field, text]: [string, string, string]) =>
      kind === 'ip'
        ? ipKey(text)
        : kind === 'tenant'
          ? tenantKey(text)
          : kind === 'header'
            ? headerKey(field, text)
            : kind === 'user'
              ? userKey(field, text)
              : bodyKey(field, text);
    fc.assert(
      fc.property(key, key, (a, b) => {
        expect(make(a) === make(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { numRuns: 3000 },
    );
  });
});

describe('allOfKey', () => {
  it('differs whenever the parts differ, whatever they hold (B37)', () => {
    const part = fc.oneof(
      fc
        .array(fc.constantFrom(',', ':', '1', '2', '3:', 'all:', 'a', '{', '}'), { maxLength: 6 })
        .map((p) => p.join('')),
      fc.string({ unit: 'binary' }),
    );
    const parts = fc.array(part, { maxLength: 4 });
    // Also pairs that join to one text, cut at two places: the case a separator gets wrong.
    const cutTwice = fc
      .tuple(part, part, part, fc.constantFrom(',', ':', ''))
      .map(([a, b, c, join]) => [
        [a + join + b, c],
        [a, b + join + c],
      ]);
    fc.assert(
      fc.property(fc.oneof(fc.tuple(parts, parts), cutTwice), ([a, b]) => {
        expect(allOfKey(...a) === allOfKey(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { numRuns: 3000 },
    );
  });
});
