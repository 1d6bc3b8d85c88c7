// The laws of docs/architecture.md, one test each. Longer than other files so that they can be read in a row.
// Expectations are in credits of the parsed limit, so they are exact: no test here has a tolerance.
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { giveBack, refill, take, timeToFull } from '../../src/core/algorithms/token-bucket';
import type { ParsedLimit } from '../../src/core/limit';
import type { BucketCharge } from '../../src/store/rate-limit-store';
import { FakeClock, redisStoreOn } from '../../src/testing';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';
import {
  anyLimit,
  asks,
  charge,
  costWithin,
  everydayLimit,
  retryAfterMs,
  Subject,
} from './subject';

const RUNS = { numRuns: 2000 };

/** Core units of any everyday limit, a level and a moment. */
const core = fc
  .record({
    n: fc.integer({ min: 1, max: 5000 }),
    q: fc.constantFrom(1, 100, 3000, 3_600_000),
    tokens: fc.integer({ min: 1, max: 500 }),
    missing: fc.nat(1_000_000_000),
    now: fc.integer({ min: 1e15, max: 2e15 }),
  })
  .map(({ n, q, tokens, missing, now }) => {
    const cap = tokens * q * 1000;
    return { n, q, cap, c: cap - (missing % (2 * cap)), now };
  });

it('law 1, no over-admission: over any span, admitted cost ≤ capacity + rate × span', () => {
  fc.assert(
    fc.property(everydayLimit, asks(60), (limit, history) => {
      const subject = new Subject();
      const starts: { price: number; at: number; rounding: number }[] = [];
      for (const { afterMs, raw, maxWaitMs } of history) {
        subject.clock.advance(afterMs);
        const one = charge(limit, costWithin(limit, raw), 'b', maxWaitMs * 1000);
        const { granted, waitUs } = subject.take(one);
        // The start of a grant that waits is rounded up to a whole µs: up to 1 µs after its due time.
        const rounding = waitUs > 0 ? 1 : 0;
        if (granted) starts.push({ price: one.price, at: subject.nowUs + waitUs, rounding });
      }
      starts.forEach(({ at: first, rounding }, from) => {
        let sum = 0;
        for (const { price, at } of starts.slice(from)) {
          sum += price;
          const most = limit.capacity + (at - first + rounding) * limit.n;
          if (sum > most) throw new Error(`${sum} > ${most} credits in ${at - first} µs`);
        }
      });
    }),
    RUNS,
  );
});

it('law 2, promise kept: denied with r ms, it is denied at r − 1 and allowed at r', () => {
  fc.assert(
    fc.property(anyLimit, fc.nat(1e9), fc.nat(999), (limit, raw, part) => {
      const subject = new Subject();
      const one = charge(limit, costWithin(limit, raw));
      drain(subject, limit);
      // Somewhere before the cost is there; in eighths of a ms, which are exact.
      const untilMs = Math.floor(subject.take(one).waitUs / 1000);
      subject.clock.advance(Math.floor((untilMs * 8 * part) / 1000) / 8);
      const refused = subject.take(one);
      const r = retryAfterMs(refused);
      subject.clock.advance(r - 1);
      const early = subject.take(one);
      subject.clock.advance(1);
      const onTime = subject.take(one);
      const got = [refused, early, onTime].map(({ granted }) => granted);
      if (got.join() !== 'false,false,true')
        throw new Error(`asked at 0, ${r - 1}, ${r} ms: ${got.join()}`);
    }),
    { numRuns: 100_000 },
  );
});

it('law 3, denied is free: a denial changes neither the level nor any later answer', () => {
  fc.assert(
    fc.property(everydayLimit, asks(30), fc.nat(50), (limit, history, denials) => {
      const [asked, quiet] = [new Subject(), new Subject()];
      for (const { afterMs, raw } of history) {
        asked.clock.advance(afterMs);
        quiet.clock.advance(afterMs);
        const one = charge(limit, costWithin(limit, raw));
        const { granted } = quiet.peek(one);
        const before = asked.peek(one);
        const answers = Array.from({ length: granted ? 1 : denials }, () => asked.take(one));
        if (granted) quiet.take(one);
        expect(answers.every((answer) => answer.granted === granted)).toBe(true);
        expect(asked.peek(one)).toEqual(granted ? quiet.peek(one) : before);
        expect(asked.peek(one)).toEqual(quiet.peek(one));
      }
    }),
    { numRuns: 300 },
  );
});

it('law 4, splitting: a + b at one instant is a, then b', () => {
  fc.assert(
    fc.property(core, fc.nat(1e6), fc.nat(1e6), ({ n, q, cap, c, now }, a, b) => {
      const [first, second] = [a, b].map((raw) => q * (1 + (raw % (cap / q))));
      const [together, , left] = take(c, now, n, first + second, 0, now);
      const [ok, , after] = take(c, now, n, first, 0, now);
      const [okToo, , end] = take(after, now, n, second, 0, now);
      expect(ok && okToo).toBe(together);
      expect(together ? end : c).toBe(left);
    }),
    RUNS,
  );
});

it('law 5, patience is linear: to refill in steps is to refill at once', () => {
  fc.assert(
    fc.property(core, fc.array(fc.nat(1e9), { maxLength: 30 }), ({ n, cap, c, now }, steps) => {
      let [level, at] = [c, now];
      for (const us of steps) [level, at] = refill(level, at, n, cap, at + us);
      expect([level, at]).toEqual(refill(c, now, n, cap, at));
    }),
    RUNS,
  );
});

describe('law 6, backward clock', () => {
  const back = fc.oneof(fc.nat(10_000), fc.nat(100_000_000));

  it('adds nothing and takes nothing; time lived again is not credited again', () => {
    fc.assert(
      fc.property(everydayLimit, asks(20), back, (limit, history, backMs) => {
        const subject = new Subject();
        let left = limit.capacity;
        for (const { afterMs, raw } of history) {
          subject.clock.advance(afterMs);
          const { granted, credits } = subject.take(charge(limit, costWithin(limit, raw)));
          if (granted) left = credits;
        }
        const all = { ...charge(limit, 1), price: limit.capacity };
        const { held, fullInUs } = subject.peek(all);
        const moment = subject.clock.nowMs();
        subject.clock.set(moment - backMs);
        const earlier = subject.peek(all).held;
        expect(earlier).toBeLessThanOrEqual(held);
        expect(earlier).toBeGreaterThanOrEqual(left);
        subject.take(all);
        if (subject.peek(all).held < left || backMs * 1000 > fullInUs) return;
        subject.clock.set(moment);
        expect(subject.peek(all).held).toBe(held);
      }),
      RUNS,
    );
  });

  it('freezes no bucket for longer than its own time to full, however often it is asked meanwhile', () => {
    fc.assert(
      fc.property(everydayLimit, back, fc.nat(1e9), fc.nat(20), (limit, backMs, raw, polls) => {
        const subject = new Subject();
        const one = charge(limit, costWithin(limit, raw));
        drain(subject, limit);
        const { fullInUs } = subject.peek(one);
        subject.clock.set(subject.clock.nowMs() - backMs);
        const { waitUs, granted } = subject.take(one);
        expect(granted).toBe(false);
        expect(waitUs).toBeLessThanOrEqual(2 * fullInUs);
        const r = Math.ceil(waitUs / 1000);
        // Denied polls on the way change nothing: the promise of the first holds.
        for (let i = 0; i < polls; i++) {
          subject.clock.advance(Math.floor((r - 1) / polls));
          expect(subject.take(one).granted).toBe(false);
        }
        subject.clock.advance(r - polls * Math.floor((r - 1) / (polls || 1)));
        expect(subject.take(one).granted).toBe(true);
      }),
      RUNS,
    );
  });
});

it('law 7, bounds: 0 ≤ credits left of a grant now ≤ capacity, whole; full in 0 exactly when full', () => {
  fc.assert(
    fc.property(everydayLimit, asks(40), (limit, history) => {
      const subject = new Subject();
      for (const { afterMs, raw, maxWaitMs } of history) {
        subject.clock.advance(afterMs);
        const one = charge(limit, costWithin(limit, raw), 'b', maxWaitMs * 1000);
        const { held, known } = subject.peek(one);
        const { granted, credits, waitUs, fullInUs } = subject.take(one);
        const least = granted && waitUs > 0 ? -Infinity : Math.min(0, held);
        expect(credits >= least && credits <= limit.capacity).toBe(true);
        expect([credits, waitUs, fullInUs].every((each) => Number.isSafeInteger(each))).toBe(true);
        expect(fullInUs === 0).toBe(credits === limit.capacity);
        expect(known).toBe(held < limit.capacity);
        expect(waitUs === 0).toBe(one.price <= held);
      }
    }),
    RUNS,
  );
});

it('law 8, peek: tells what consume would, and writes nothing', () => {
  fc.assert(
    fc.property(everydayLimit, asks(40), (limit, history) => {
      const [peeked, quiet] = [new Subject(), new Subject()];
      for (const { afterMs, raw, maxWaitMs } of history) {
        peeked.clock.advance(afterMs);
        quiet.clock.advance(afterMs);
        const one = charge(limit, costWithin(limit, raw), 'b', maxWaitMs * 1000);
        const { held, known, ...told } = peeked.peek(one);
        expect(peeked.peek(one)).toEqual({ held, known, ...told });
        const size = peeked.store.size;
        // When it starts is only known of what was taken.
        const { startsAtUs, ...taken } = peeked.take(one);
        expect(taken).toEqual(told);
        expect(quiet.take(one)).toEqual({ startsAtUs, ...told });
        expect(size).toBeLessThanOrEqual(quiet.store.size);
      }
    }),
    RUNS,
  );
});

it('law 9, forgetting is safe: to delete a bucket once it is full is unobservable', () => {
  fc.assert(
    fc.property(everydayLimit, asks(40), (limit, history) => {
      const [kept, forgotten] = [new Subject(), new Subject()];
      let fullAtUs = 0;
      for (const { afterMs, raw, maxWaitMs } of history) {
        kept.clock.advance(afterMs);
        forgotten.clock.advance(afterMs);
        if (forgotten.nowUs >= fullAtUs) forgotten.store.reset(['b']);
        const one = charge(limit, costWithin(limit, raw), 'b', maxWaitMs * 1000);
        const outcome = forgotten.take(one);
        expect(outcome).toEqual(kept.take(one));
        fullAtUs = forgotten.nowUs + outcome.fullInUs;
      }
    }),
    RUNS,
  );
});

it('law 10, isolation: what one key does, no other can tell', () => {
  fc.assert(
    fc.property(everydayLimit, asks(40), (limit, history) => {
      const [together, alone] = [new Subject(), [new Subject(), new Subject(), new Subject()]];
      for (const { afterMs, raw, maxWaitMs } of history) {
        for (const { clock } of [together, ...alone]) clock.advance(afterMs);
        const who = raw % 3;
        const one = charge(limit, costWithin(limit, raw), `key ${who}`, maxWaitMs * 1000);
        expect(together.take(one)).toEqual(alone[who].take(one));
      }
    }),
    RUNS,
  );
});

it('law 11, all or nothing: one bucket refuses, none is charged; all grant, each as if alone', () => {
  fc.assert(
    fc.property(
      fc.array(everydayLimit, { minLength: 2, maxLength: 4 }),
      asks(20),
      (limits, history) => {
        const [together, alone] = [new Subject(), new Subject()];
        for (const { afterMs, raw, maxWaitMs } of history) {
          together.clock.advance(afterMs);
          alone.clock.advance(afterMs);
          const all = limits.map((limit, i) =>
            charge(limit, costWithin(limit, raw + i * 7919), `b${i}`, maxWaitMs * 1000),
          );
          const before = together.store.peek(all);
          const outcomes = together.store.take(all);
          expect(outcomes.map(({ granted }) => granted)).toEqual(
            before.map(({ granted }) => granted),
          );
          const charged = outcomes.every(({ granted }) => granted);
          const expected = charged
            ? all.map((each) => alone.take(each).credits)
            : before.map(({ held }) => held);
          expect(outcomes.map(({ credits }) => credits)).toEqual(expected);
          expect(together.store.peek(all)).toEqual(alone.store.peek(all));
        }
      },
    ),
    RUNS,
  );
});

describe('law 12, refund', () => {
  it('restores what was taken when nobody reserved in between, and never more than full', () => {
    fc.assert(
      fc.property(core, fc.nat(1e6), fc.nat(1e9), ({ n, q, cap, c, now }, raw, laterUs) => {
        const cost = q * (1 + (raw % (cap / q)));
        const [ok, wait, left] = take(c, now, n, cost, Infinity, now);
        expect(ok).toBe(true);
        const later = now + Math.min(laterUs, wait);
        const back = giveBack(...refill(left, now, n, cap, later), n, cap, cost, now + wait);
        const [undisturbed] = refill(c, now, n, cap, later);
        // A start is rounded up to a whole µs; what it gains in that µs may come on top.
        expect(back - undisturbed).toBeGreaterThanOrEqual(0);
        expect(back - undisturbed).toBeLessThan(wait > 0 ? n : 1);
        expect(back).toBeLessThanOrEqual(cap);
      }),
      RUNS,
    );
  });

  it('leaves law 1 as: ≤ capacity + rate × span + what was given back in the span', () => {
    fc.assert(
      fc.property(core, asks(60), ({ n, q, cap, now: start }, history) => {
        let [c, t, now] = [cap, start, start];
        let [admitted, given] = [0, 0];
        const grants: { cost: number; startsAt: number }[] = [];
        for (const { afterMs, raw, maxWaitMs } of history) {
          now += afterMs * 1000;
          [c, t] = refill(c, t, n, cap, now);
          if (raw % 3 === 0 && grants.length > 0) {
            const [{ cost, startsAt }] = grants.splice(raw % grants.length, 1);
            const before = c;
            c = giveBack(c, t, n, cap, cost, startsAt);
            given += c - before;
          } else {
            const cost = q * (1 + (raw % (cap / q)));
            const [ok, wait, left] = take(c, t, n, cost, maxWaitMs * 1000, now);
            c = left;
            if (!ok) continue;
            admitted += cost;
            grants.push({ cost, startsAt: now + wait });
          }
          const lastStart = now + timeToFull(c, t, n, Math.max(c, 0), now);
          expect(admitted).toBeLessThanOrEqual(cap + (lastStart - start) * n + given);
          expect(c).toBeLessThanOrEqual(cap);
        }
      }),
      RUNS,
    );
  });
});

describe('law 13, concurrency', () => {
  let clients: Redis[];
  beforeAll(() => {
    clients = [1, 2, 3, 4].map(() => new Redis(sharedRedisUrl()));
  });
  afterAll(() => clients.forEach((client) => client.disconnect()));

  it('parallel consumes on Redis admit exactly what a serial run admits', async () => {
    await fc.assert(
      fc.asyncProperty(everydayLimit, fc.nat(1e6), async (limit, raw) => {
        const clock = new FakeClock();
        const stores = clients.map((client) => redisStoreOn(clock, client));
        const one = charge(
          limit,
          Math.max(costWithin(limit, raw), limit.capacityTokens / 100),
          uniquePrefix(),
        );
        const serial = Math.floor(limit.capacity / one.price);
        const many = Array.from({ length: serial + 20 }, (_, i) => stores[i % 4].take([one]));
        const outcomes = (await Promise.all(many)).map(([outcome]) => outcome);
        const granted = outcomes.filter((outcome) => outcome.granted);
        expect(granted.length).toBe(serial);
        // Each grant saw another level: no two were made of the same tokens.
        expect(new Set(granted.map(({ credits }) => credits)).size).toBe(serial);
        expect(Math.min(...outcomes.map(({ credits }) => credits))).toBe(
          limit.capacity - serial * one.price,
        );
      }),
      { numRuns: 100 },
    );
  });
});

it('law 14, monotone: more capacity or rate never turns an allow into a deny', () => {
  const more = fc.record({ n: fc.nat(5000), cap: fc.nat(1e9) });
  fc.assert(
    fc.property(everydayLimit, more, asks(40), (limit, { n, cap }, history) => {
      const larger = { ...limit, n: limit.n + n, capacity: limit.capacity + cap };
      const [small, large] = [new Subject(), new Subject()];
      for (const { afterMs, raw, maxWaitMs } of history) {
        small.clock.advance(afterMs);
        large.clock.advance(afterMs);
        const one = charge(limit, costWithin(limit, raw), 'b', maxWaitMs * 1000);
        const { granted } = small.take(one);
        expect(!granted || large.take({ ...one, limit: larger }).granted).toBe(true);
      }
    }),
    RUNS,
  );
});

/** Leaves less than a thousandth of a token. */
function drain(subject: Subject, limit: ParsedLimit): void {
  const price = Math.floor(limit.capacity / limit.q) * limit.q;
  const all: BucketCharge = { ...charge(limit, 1), price };
  expect(subject.take(all).granted).toBe(true);
}
