// Histories in the Lua twin: the files of lua/lib, run by a real Redis, many histories a call.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Effect, Event } from './history';

const LIB = join(__dirname, '../../src/store/redis/lua/lib');

// Each event is 9 doubles, each effect 5. The state goes through its stored form at every step.
const SCRIPT = `
${readFileSync(join(LIB, 'token_bucket.lua'), 'utf8')}
${readFileSync(join(LIB, 'bucket_value.lua'), 'utf8')}
local data, out, position, value = ARGV[1], {}, 1, nil
while position <= #data do
  local is_first, is_take, now, n, q, cap, cost, max_wait, starts_at
  is_first, is_take, now, n, q, cap, cost, max_wait, starts_at, position = struct.unpack('<ddddddddd', data, position)
  if is_first == 1 then value = nil end
  local c, t = decode(value, q, cap, now, rescale)
  c, t = refill(c, t, n, cap, now)
  local ok, wait = true, 0
  if is_take == 1 then
    ok, wait, c = take(c, t, n, cost, max_wait, now)
  else
    c = give_back(c, t, n, cap, cost, starts_at)
  end
  value = encode(0, c, t, q)
  out[#out + 1] = struct.pack('<ddddd', ok and 1 or 0, wait, c, t, time_to_full(c, t, n, cap, now))
end
return table.concat(out)
`;

const EVENT_DOUBLES = 9;
const EFFECT_DOUBLES = 5;

/** What the Lua twin makes of each event of each history. */
export async function luaEffects(
  redis: Redis,
  histories: readonly (readonly Event[])[],
): Promise<Effect[][]> {
  const total = histories.reduce((sum, events) => sum + events.length, 0);
  const data = new Float64Array(total * EVENT_DOUBLES);
  let at = 0;
  for (const events of histories) {
    events.forEach(({ kind, now, n, q, cap, cost, maxWait, startsAt }, i) => {
      const isFirst = i === 0 ? 1 : 0;
      const isTake = kind === 'take' ? 1 : 0;
      data.set([isFirst, isTake, now, n, q, cap, cost, maxWait, startsAt], at);
      at += EVENT_DOUBLES;
    });
  }
  const reply = (await redis.callBuffer('EVAL', SCRIPT, 0, Buffer.from(data.buffer))) as Buffer;
  expect(reply.length).toBe(total * EFFECT_DOUBLES * 8);
  let from = 0;
  const next = () => reply.readDoubleLE((from += 8) - 8);
  return histories.map((events) =>
    events.map(() => ({ ok: next() === 1, wait: next(), c: next(), t: next(), full: next() })),
  );
}
