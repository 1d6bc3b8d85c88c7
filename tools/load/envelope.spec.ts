// The judge of the load test, judged: it must see a violation and must not invent one.
import { leastDueRefusal, quantile, tightestSince, tightestWindow } from './envelope';

const at = (...times: number[]) => times.map((ms) => ({ sentMs: ms, receivedMs: ms }));

describe('tightestWindow', () => {
  const limit = { rate: 10, capacity: 2 };

  it('has the one token of allowance left when the law is used up', () => {
    expect(tightestWindow(at(0, 0, 100, 200, 300), limit)).toEqual({
      slack: 1,
      count: 2,
      fromMs: 0,
      toMs: 0,
    });
  });

  it('sees the one window that is too full', () => {
    const calls = at(0, 1000, 2000, 2000, 2000, 2100, 2100);
    expect(tightestWindow(calls, limit)).toMatchObject({ slack: -1, fromMs: 2000, toMs: 2100 });
  });

  it('gives the network the benefit of the doubt', () => {
    // Four calls that may have been decided 200 ms apart.
    const calls = [0, 0, 0, 0].map((sentMs) => ({ sentMs, receivedMs: 200 }));
    expect(tightestWindow(calls, limit)?.slack).toBe(1);
    // A call that may lie outside is not counted inside: two at 10, three only within 0 to 20.
    const uncertain = [...at(10, 10), { sentMs: 0, receivedMs: 20 }];
    expect(tightestWindow(uncertain, limit)).toMatchObject({ count: 3, fromMs: 0, toMs: 20 });
  });

  it('finds what looking at every pair finds', () => {
    let seed = 1;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let run = 0; run < 200; run++) {
      const calls = Array.from({ length: 1 + random(12) }, () => {
        const sentMs = random(500);
        return { sentMs, receivedMs: sentMs + random(80) };
      });
      const slacks = calls.flatMap(({ sentMs: from }) =>
        calls.map(({ receivedMs: to }) => {
          const inside = calls.filter((c) => c.sentMs >= from && c.receivedMs <= to).length;
          return inside === 0 ? Infinity : 3 + (to - from) / 100 - inside;
        }),
      );
      expect(tightestWindow(calls, limit)?.slack).toBeCloseTo(Math.min(...slacks), 9);
    }
  });

  it('has nothing to say about nothing', () => {
    expect(tightestWindow([], limit)).toBeUndefined();
  });
});

describe('tightestSince', () => {
  it('counts from a moment at which the bucket was known to be empty', () => {
    const limit = { rate: 10, capacity: 0 };
    expect(tightestSince(at(100, 200, 300), limit, 0)?.slack).toBe(1);
    expect(tightestSince(at(100, 150, 150), limit, 0)?.slack).toBe(-0.5);
  });
});

describe('leastDueRefusal', () => {
  const empty = { tokens: 0, sinceMs: 0 };

  it('accepts a refusal that the calls before it explain', () => {
    expect(leastDueRefusal(at(150), at(100), { rate: 10 }, empty)).toMatchObject({ slack: 1.5 });
  });

  it('sees a refusal while tokens were left', () => {
    expect(leastDueRefusal(at(150, 450), at(100), { rate: 10 }, empty)?.slack).toBe(-1.5);
  });
});

describe('quantile', () => {
  it('is the value that the share does not exceed', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(3);
    expect(quantile([4, 1, 3, 2], 0.99)).toBe(4);
    expect(quantile([], 0.5)).toBe(0);
  });
});
