import * as fc from 'fast-check';
import { parseItem } from 'structured-headers';

import { InvalidLimitError } from '../core/errors';
import { SF_INTEGER_MAX, sfInteger, sfString } from './structured-field';

describe('sfString', () => {
  it('quotes, and escapes quotes and backslashes', () => {
    expect(sfString('burst')).toBe('"burst"');
    expect(sfString('a"b\\c')).toBe('"a\\"b\\\\c"');
  });

  it('parses back to the same text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(parseItem(sfString(text))[0]).toBe(text);
      }),
    );
  });

  it('refuses any text with a character that the format lacks', () => {
    const forbidden = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 });
    fc.assert(
      fc.property(fc.string(), forbidden, fc.string(), (before, character, after) => {
        fc.pre(!/[ -~]/.test(character));
        expect(() => sfString(before + character + after)).toThrow(InvalidLimitError);
      }),
    );
  });

  it.each(['a\r\nSet-Cookie: x=1', 'ä', '\u0000', '\u007f', '😀'])('refuses %j', (text) => {
    expect(() => sfString(text)).toThrow('use printable ASCII only');
  });
});

describe('sfInteger', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [-3, '0'],
    [42, '42'],
    [SF_INTEGER_MAX, '999999999999999'],
    [1e15, '999999999999999'],
    [1e21, '999999999999999'],
    [Number.MAX_VALUE, '999999999999999'],
  ])('writes %d as %s', (value, expected) => {
    expect(sfInteger(value)).toBe(expected);
  });

  it.each([NaN, Infinity, -Infinity, 1.5])('refuses %d', (value) => {
    expect(() => sfInteger(value)).toThrow(InvalidLimitError);
  });
});
