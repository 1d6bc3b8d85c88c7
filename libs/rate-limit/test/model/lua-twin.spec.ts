// TypeScript, its Lua twin and the oracle over the same histories: not one credit, not one microsecond apart.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { sharedRedisUrl } from '../support/redis-server';
import { rawHistory, run, type History } from './history';
import { luaEffects } from './lua-history';
import { line, oracleLines } from './oracle-history';

const ROUNDS = 20;
const HISTORIES_PER_ROUND = 5000;
/** Redis answers nobody else while a script runs: 20 ms at most. */
const HISTORIES_PER_CALL = 100;

let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterAll(() => redis.disconnect());

function mismatch(what: string, history: History, ours: string[], theirs: string[]): Error {
  const at = ours.findIndex((each, i) => each !== theirs[i]);
  const events = JSON.stringify(history.events.slice(0, at + 1), undefined, 1);
  return new Error(
    `event ${at}: TypeScript says ${ours[at]}, ${what} says ${theirs[at]}\n${events}`,
  );
}

/** Histories on which TypeScript and the oracle agree; they shrink when they don't. */
function agreed(): History[] {
  const histories: History[] = [];
  fc.assert(
    fc.property(rawHistory, (raw) => {
      const history = run(raw);
      const ours = history.effects.map(line);
      const theirs = oracleLines(history.events);
      if (ours.join() !== theirs.join()) throw mismatch('the oracle', history, ours, theirs);
      histories.push(history);
    }),
    { numRuns: HISTORIES_PER_ROUND },
  );
  return histories;
}

it('TypeScript, Lua and the oracle agree over 100 000 random histories', async () => {
  const seen = new Map<string, number>();
  let compared = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const histories = agreed();
    for (let from = 0; from < histories.length; from += HISTORIES_PER_CALL) {
      const some = histories.slice(from, from + HISTORIES_PER_CALL);
      const effects = await luaEffects(
        redis,
        some.map(({ events }) => events),
      );
      some.forEach((history, i) => {
        const ours = history.effects.map(line);
        const theirs = effects[i].map(line);
        if (ours.join() !== theirs.join()) throw mismatch('Lua', history, ours, theirs);
        countHappenings(history, seen);
        compared++;
      });
    }
  }
  expect(compared).toBe(100_000);
  // A random test proves nothing about what its histories never reach.
  expect(HAPPENINGS.filter((what) => (seen.get(what) ?? 0) < 1000)).toEqual([]);
}, 120_000);

const HAPPENINGS = [
  'granted',
  'denied',
  'reserved',
  'waited too long',
  'given back',
  'in debt',
  'in deep debt',
  'full',
  'takes decades to fill',
  'time lies ahead',
  'clock went back',
  'clock restarted',
  'unit changed',
  'capacity changed',
];

function countHappenings({ events, effects }: History, seen: Map<string, number>): void {
  const count = (what: string, happened: boolean) => {
    if (happened) seen.set(what, (seen.get(what) ?? 0) + 1);
  };
  events.forEach(({ kind, now, q, cap, maxWait }, i) => {
    const { ok, wait, c, t, full } = effects[i];
    const isTake = kind === 'take';
    count('given back', !isTake);
    count('granted', isTake && ok && wait === 0);
    count('reserved', isTake && ok && wait > 0);
    count('denied', isTake && !ok && maxWait === 0);
    count('waited too long', isTake && !ok && maxWait > 0);
    count('in debt', c < 0);
    count('in deep debt', c < -(2 ** 50));
    count('full', full === 0);
    count('takes decades to fill', full > 2 ** 50);
    count('time lies ahead', t > now);
    if (i === 0) return;
    const [event, effect] = [events[i - 1], effects[i - 1]];
    count('clock went back', now < event.now);
    count('clock restarted', now < effect.t && t === now && full > 0);
    count('unit changed', q !== event.q);
    count('capacity changed', cap !== event.cap);
  });
}
