// Knows how an IP address is spelt; must not know requests, proxies or buckets. Pure.
import { isIPv4, isIPv6 } from 'node:net';

import { InvalidLimitError } from '../core/errors';

/** One IPv6 customer usually owns a whole /64, so its addresses share a bucket. */
export const DEFAULT_IPV6_PREFIX = 64;

const IPV6_BITS = 128;
const WORD_BITS = 16;
const WORD_MASK = 0xffff;
const WORDS = IPV6_BITS / WORD_BITS;

const MAPPED = '::ffff:';
/** What stands before an IPv4 address that a translator wrote into an IPv6 one: RFC 6052's 64:ff9b::/96. */
const TRANSLATED = [0x64, 0xff9b, 0, 0, 0, 0];
const MAPPED_WORDS = [0, 0, 0, 0, 0, WORD_MASK];
const IPV4_WITH_PORT = /^([\d.]+):\d{1,5}$/;
const BRACKETED_IPV6 = /^\[([^\]]+)\](?::\d{1,5})?$/;

/**
 * The prefix length, if it is one: a whole number from 1 to 128.
 *
 * @throws InvalidLimitError for anything else, with the option and the value.
 */
export function checkedIpv6Prefix(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= IPV6_BITS) {
    return value as number;
  }
  throw new InvalidLimitError(
    `ipv6Prefix ${String(value)} (${typeof value}) is no prefix length: give a whole number from 1 to ${IPV6_BITS}`,
  );
}

/**
 * The one text for an IP address, whatever its spelling, or `undefined` when it is none.
 *
 * IPv4: dotted decimal. IPv4-mapped IPv6 (the bits ::ffff:0:0/96, however they are written) is the IPv4
 * address in it, and so is what a translator in front of an IPv6-only server makes of one (64:ff9b::/96):
 * by its first 64 bits, all of IPv4 would be one client. Every other IPv6 address stays one, also those
 * with an IPv4 address elsewhere (::1.2.3.4, 2001:db8::1.2.3.4, a translation prefix of one's own).
 * IPv6: masked to `ipv6Prefix` bits, in the form of RFC 5952, with `/prefix` behind it unless that is 128. A zone id (`%eth0`) and a port (`1.2.3.4:80`, `[::1]:80`) are
 * dropped. Leading zeros in IPv4 are refused: some read them as octal.
 *
 * @param ipv6Prefix a checked prefix length ({@link checkedIpv6Prefix}); 64 when left out.
 */
export function canonicalIp(
  text: string | undefined,
  ipv6Prefix: number = DEFAULT_IPV6_PREFIX,
): string | undefined {
  if (typeof text !== 'string') return undefined;
  if (isIPv4(text)) return text;
  // How a dual-stack server sees every IPv4 client; other spellings of it take the long way.
  if (text.startsWith(MAPPED) && isIPv4(text.slice(MAPPED.length)))
    return text.slice(MAPPED.length);
  const ipv4 = IPV4_WITH_PORT.exec(text)?.[1];
  if (ipv4 !== undefined) return isIPv4(ipv4) ? ipv4 : undefined;

  const address = withoutZone(BRACKETED_IPV6.exec(text)?.[1] ?? text);
  if (!isIPv6(address)) return undefined;
  const words = wordsOf(address);
  // Unmapped before masking: a mask first would put every IPv4 client into one bucket.
  if (startsWith(words, MAPPED_WORDS) || startsWith(words, TRANSLATED))
    return dottedQuad(words[6], words[7]);
  const subnet = compressed(masked(words, ipv6Prefix));
  return ipv6Prefix === IPV6_BITS ? subnet : `${subnet}/${ipv6Prefix}`;
}

function withoutZone(text: string): string {
  const zone = text.indexOf('%');
  return zone === -1 ? text : text.slice(0, zone);
}

/** The eight 16-bit words of a valid IPv6 address without zone. */
function wordsOf(address: string): number[] {
  const gap = address.indexOf('::');
  if (gap === -1) return wordsOfPart(address);
  const head = wordsOfPart(address.slice(0, gap));
  const tail = wordsOfPart(address.slice(gap + 2));
  const zeros = new Array<number>(WORDS - head.length - tail.length).fill(0);
  return [...head, ...zeros, ...tail];
}

function wordsOfPart(part: string): number[] {
  const words: number[] = [];
  if (part === '') return words;
  for (const piece of part.split(':')) {
    if (piece.includes('.')) {
      const [a, b, c, d] = piece.split('.').map(Number);
      words.push((a << 8) | b, (c << 8) | d);
    } else {
      words.push(parseInt(piece, 16));
    }
  }
  return words;
}

function startsWith(words: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((word, i) => words[i] === word);
}

function dottedQuad(high: number, low: number): string {
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}

function masked(words: readonly number[], prefix: number): number[] {
  return words.map((word, index) => {
    const kept = Math.min(WORD_BITS, Math.max(0, prefix - index * WORD_BITS));
    return word & (WORD_MASK << (WORD_BITS - kept));
  });
}

/** RFC 5952: lower case, no leading zeros, the first longest run of two or more zero words as `::`. */
function compressed(words: readonly number[]): string {
  let start = -1;
  let length = 1;
  for (let from = 0; from < WORDS; from++) {
    let to = from;
    while (to < WORDS && words[to] === 0) to++;
    if (to - from > length) {
      start = from;
      length = to - from;
    }
    from = to;
  }
  if (start === -1) return hex(words);
  return `${hex(words.slice(0, start))}::${hex(words.slice(start + length))}`;
}

function hex(words: readonly number[]): string {
  return words.map((word) => word.toString(16)).join(':');
}
