// Pure: a configuration as the scripts store it. Twin of lua/lib/configuration.lua.
import { msFromUsCeil } from '../../core/duration';
import { parseLimit, type ParsedLimit } from '../../core/limit';
import type { Configuration, ConfiguredLimit } from '../configuration-store';
import type { InForce } from '../in-force';

const FORM = /^(\d+) (-?\d+) (\d+) \d+ \d+ \d+\n(.*)$/s;
const STAYS = -1;
/** Parsed limits by their text. A fleet has few at a time; beyond this the memory starts anew. */
const MOST_PARSED = 1000;
const parsed = new Map<string, ParsedLimit>();

/** The two texts of a limit: what the scripts count with, and what the user wrote. */
export function limitTexts({ limit, reason }: ConfiguredLimit): [numbers: string, json: string] {
  const { n, q, capacity, fingerprint } = parseLimit(limit, 'configuration');
  return [`${n} ${q} ${capacity} ${fingerprint}`, JSON.stringify({ limit, reason })];
}

/** What is in force of a stored text. */
export function inForce(text: string, nowUs: number): InForce {
  const { blockedUs, json } = partsOf(text, nowUs);
  return { blockedUs, limit: json === undefined ? undefined : limitOf(json) };
}

/** The same for people. */
export function configurationOf(text: string | null, nowUs: number): Configuration {
  const { blockedUs, endsUs, json } = partsOf(text ?? '', nowUs);
  return {
    ...(json !== undefined && (JSON.parse(json) as ConfiguredLimit)),
    ...(json !== undefined && endsUs !== STAYS && { limitEndsAtMs: msFromUsCeil(endsUs) }),
    ...(blockedUs > 0 && { blockedUntilMs: msFromUsCeil(nowUs + blockedUs) }),
  };
}

function partsOf(text: string, nowUs: number) {
  const [, blocked = '0', ends = '0', n = '0', json = ''] = FORM.exec(text) ?? [];
  const endsUs = Number(ends);
  const stands = Number(n) > 0 && (endsUs === STAYS || endsUs > nowUs);
  return {
    blockedUs: Math.max(0, Number(blocked) - nowUs),
    endsUs,
    json: stands ? json : undefined,
  };
}

function limitOf(json: string): ParsedLimit {
  const known = parsed.get(json);
  if (known !== undefined) return known;
  if (parsed.size >= MOST_PARSED) parsed.clear();
  const limit = parseLimit((JSON.parse(json) as ConfiguredLimit).limit, 'configuration');
  parsed.set(json, limit);
  return limit;
}
