// A history as the oracle sees it.
import type { Effect, Event } from './history';
import { full, fullIn, giveBack, levelAt, oracleLimit, take, type Held } from './oracle';
import { ratio, times } from './ratio';

/** Credits, as the library counts; a fraction of one would show. */
export function credits({ tokens }: Held, q: number): string {
  const [a, b] = times(tokens, ratio(BigInt(q) * 1000n));
  return a % b === 0n ? `${a / b}` : `${a}/${b}`;
}

/** One line an event: granted, wait, credits, their time, time to full. */
export function oracleLines(events: readonly Event[]): string[] {
  let held: Held | undefined;
  return events.map(({ kind, now, n, q, cap, cost, maxWait, startsAt }) => {
    const limit = oracleLimit(n, q, cap);
    const at = BigInt(now);
    const price = times(ratio(cost), limit.unit);
    let level = levelAt(held ?? full(limit, at), limit, at);
    let [granted, wait] = [true, 0n];
    if (kind === 'take') {
      ({ granted, wait, after: level } = take(level, limit, price, BigInt(maxWait), at));
    } else {
      level = giveBack(level, limit, price, BigInt(startsAt));
    }
    held = level;
    return `${granted} ${wait} ${credits(level, q)} ${level.at} ${fullIn(level, limit, at)}`;
  });
}

/** The same line for an effect in doubles; BigInt refuses what is not whole. */
export function line({ ok, wait, c, t, full: inUs }: Effect): string {
  return `${ok} ${BigInt(wait)} ${BigInt(c)} ${BigInt(t)} ${BigInt(inUs)}`;
}
