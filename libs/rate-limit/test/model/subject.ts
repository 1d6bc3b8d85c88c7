// One store in the hands of the laws: a memory store on a clock that the law moves.
import fc from 'fast-check';
import { msFromUsCeil } from '../../src/core/duration';
import { costThousandths, parseLimit, type Limit, type ParsedLimit } from '../../src/core/limit';
import { MemoryStore } from '../../src/store/memory/memory-store';
import type { BucketCharge, Outcome, Peeked } from '../../src/store/rate-limit-store';
import { FakeClock } from '../../src/testing';

export function parsed(limit: Limit): ParsedLimit {
  return parseLimit(limit, 'test');
}

/** `cost` in tokens. */
export function charge(
  limit: ParsedLimit,
  cost: number,
  bucket = 'b',
  maxWaitUs = 0,
): BucketCharge {
  return { bucket, place: 'p', limit, price: costThousandths(cost) * limit.q, maxWaitUs };
}

export function retryAfterMs({ waitUs }: Outcome): number {
  return msFromUsCeil(waitUs);
}

export class Subject {
  readonly clock = new FakeClock();
  readonly store = new MemoryStore({ clock: this.clock });

  take(one: BucketCharge): Outcome {
    return this.store.take([one])[0];
  }

  peek(one: BucketCharge): Peeked {
    return this.store.peek([one])[0];
  }

  get nowUs(): number {
    return Math.floor(this.clock.nowMs() * 1000);
  }
}

/** Limits as people write them: whole rates, fractions, any period. An empty bucket fills within a day. */
export const everydayLimit: fc.Arbitrary<ParsedLimit> = fc
  .record({
    tokens: fc.integer({ min: 1, max: 3000 }),
    by: fc.constantFrom(1, 3, 7, 13, 49, 1000),
    per: fc.constantFrom<Limit['per']>('second', 'minute', 250, 'hour'),
    burst: fc.integer({ min: 1000, max: 60_000 }),
  })
  .map(({ tokens, by, per, burst }) => ({ rate: tokens / by, per, capacity: burst / 1000 }))
  .map((limit) => parsed(limit));

/** Limits of any magnitude that can be counted: rates from 1e-9 to 1e12, fractions and odd doubles. */
export const anyLimit: fc.Arbitrary<ParsedLimit> = fc
  .record({
    rate: fc.oneof(
      fc
        .tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 10_000 }))
        .map(([p, q]) => p / q),
      fc.double({ min: -9, max: 12, noNaN: true }).map((power) => Math.max(1e-9, 10 ** power)),
    ),
    per: fc.constantFrom<Limit['per']>('second', 'second', 'minute', 'hour', 'day', 1, 777),
    capacity: fc.oneof(
      fc.constant(undefined),
      fc.integer({ min: 1, max: 100_000 }),
      fc.double({ min: 0, max: 9, noNaN: true }).map((power) => 10 ** power),
    ),
  })
  .map((limit) => parsedOrNot(limit))
  .filter((limit) => limit !== undefined);

function parsedOrNot(limit: Limit): ParsedLimit | undefined {
  try {
    return parsed(limit);
  } catch {
    return undefined; // needs numbers that do not fit: limit.spec.ts
  }
}

/** A cost in tokens that fits a limit: all of it, one token, a thousandth, or anything between. */
export function costWithin({ capacityTokens }: ParsedLimit, raw: number): number {
  const most = Math.floor(capacityTokens * 1000);
  return [most, 1000, 1, 1 + (raw % most), 1 + (raw % 1500)].map((k) => Math.min(k, most) / 1000)[
    raw % 5
  ];
}

/** Ask `cost`s at moments; the clock moves on by `afterMs` before each. Eighths of a ms are exact in doubles. */
export interface Ask {
  readonly afterMs: number;
  readonly raw: number;
  readonly maxWaitMs: number;
}

/** Asks whose pauses are of the size of the bucket's own time to full. */
export function asks(most: number): fc.Arbitrary<readonly Ask[]> {
  return fc.array(
    fc.record({
      afterMs: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 3, arbitrary: fc.nat(16_000).map((eighths) => eighths / 8) },
        { weight: 1, arbitrary: fc.nat(4_000_000) },
      ),
      raw: fc.nat(1_000_000),
      maxWaitMs: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.nat(5000) },
      ),
    }),
    { minLength: 1, maxLength: most },
  );
}
