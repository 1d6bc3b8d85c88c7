// Knows which headers a limited response carries; must not know how a framework sets them. Pure.
import { InvalidLimitError } from '../core/errors';
import { draftPolicyField, draftStateField } from './draft-headers';
import { legacyHeaders } from './legacy-headers';
import { type LimitedDecision } from './limited-decision';
import { bindingDecision, retryAfterSeconds } from './retry-after';
import { sfInteger } from './structured-field';

/** A family of header fields. `draft`: the IETF draft's structured fields. `legacy`: `X-RateLimit-*`. */
export type HeaderStyle = 'draft' | 'legacy';

/** Header name and value, in the order to set them; no name twice. */
export type HeaderEntries = Array<[name: string, value: string]>;

/** The headers of a response, from the enforced policies of its request and what each decided. */
export type HeaderWriter = (entries: readonly LimitedDecision[]) => HeaderEntries;

const STYLES: Readonly<Record<HeaderStyle, HeaderWriter>> = {
  draft: (entries) => [
    ['RateLimit-Policy', draftPolicyField(entries)],
    ['RateLimit', draftStateField(entries)],
  ],
  legacy: legacyHeaders,
};

export const DEFAULT_HEADER_STYLES: readonly HeaderStyle[] = ['draft', 'legacy'];

/**
 * Makes the writer for the chosen styles; once a module. The same fields go with an allowance and with a denial.
 * A denial also gets `Retry-After`, whatever the styles: whole seconds, at least 1, the longest binding wait.
 * No entries: no headers.
 *
 * @param styles default both; `false` or an empty list: `Retry-After` only.
 * @throws InvalidLimitError for an unknown style.
 */
export function headerWriter(
  styles: HeaderStyle | readonly HeaderStyle[] | false = DEFAULT_HEADER_STYLES,
): HeaderWriter {
  const writers = chosen(styles).map((style) => STYLES[style]);
  return (entries) => {
    if (entries.length === 0) return [];
    const headers = writers.flatMap((write) => write(entries));
    const binding = bindingDecision(entries.map((entry) => entry.decision));
    if (!binding.allowed) {
      headers.push(['Retry-After', sfInteger(retryAfterSeconds(binding.retryAfterMs))]);
    }
    return headers;
  };
}

function chosen(styles: HeaderStyle | readonly HeaderStyle[] | false): HeaderStyle[] {
  if (styles === false) return [];
  const list: readonly HeaderStyle[] = Array.isArray(styles) ? styles : [styles];
  for (const style of list) {
    if (typeof style !== 'string' || !Object.hasOwn(STYLES, style)) {
      throw new InvalidLimitError(
        `headers: ${JSON.stringify(style)} is no header style: use ${Object.keys(STYLES).join(', ')}, a list of them, or false`,
      );
    }
  }
  return [...new Set(list)];
}
