import { CostExceedsCapacityError, InvalidCostError, InvalidLimitError } from '../core/errors';
import { MemoryStore } from '../store/memory/memory-store';
import { EnvelopeError, envelopeViolation } from './envelope';
import { simulate } from './simulate';

describe('simulate', () => {
  it('decides as the limiter would, to the millisecond', () => {
    const decisions = simulate({ rate: 10, capacity: 2 }, [0, 0, 0, 99, 100, 100]);
    expect(decisions.map(({ allowed }) => allowed)).toEqual([
      true,
      true,
      false,
      false,
      true,
      false,
    ]);
    expect(decisions[3]).toEqual({
      allowed: false,
      policy: 'default',
      key: 'anyone',
      cost: 1,
      limit: 2,
      remaining: 0,
      retryAfterMs: 1,
      resetAfterMs: 101,
      source: 'memory',
      degraded: false,
      atMs: 99,
    });
    expect(decisions.totals).toEqual({ allowed: 3, denied: 3, admitted: 3 });
  });

  it('knows costs and keys', () => {
    const decisions = simulate({ rate: 1, capacity: 5, name: 'search' }, [
      { atMs: 0, cost: 4, key: 'ann' },
      { atMs: 0, cost: 4, key: 'bob' },
      { atMs: 1000, cost: 3, key: 'ann' },
      { atMs: 2000, cost: 2.5, key: 'ann' },
    ]);
    expect(decisions.map(({ key, remaining, policy }) => [key, remaining, policy])).toEqual([
      ['ann', 1, 'search'],
      ['bob', 1, 'search'],
      ['ann', 2, 'search'],
      ['ann', 0, 'search'],
    ]);
    expect(decisions.totals).toEqual({ allowed: 3, denied: 1, admitted: 10.5 });
  });

  it('keeps the envelope for a flood at every microsecond of a crooked rate', () => {
    const flood = Array.from({ length: 20_000 }, (_, i) => i * 0.057);
    const { totals } = simulate({ rate: 1000 / 7, capacity: 3.5 }, flood);
    // 3.5 tokens and 1139.943 ms of 1/7 a ms.
    expect(totals.allowed).toBe(Math.floor(3.5 + 1139.943 / 7));
  });

  it.each([
    ['a bad limit', () => simulate({ rate: 0 }, [0]), InvalidLimitError, /simulate: limit: rate 0/],
    ['a bad cost', () => simulate({ rate: 1 }, [{ atMs: 0, cost: 0 }]), InvalidCostError, /cost 0/],
    [
      'a cost that can never pass',
      () => simulate({ rate: 1, capacity: 2 }, [{ atMs: 0, cost: 3 }]),
      CostExceedsCapacityError,
      /cost 3/,
    ],
    [
      'times that run back',
      () => simulate({ rate: 1 }, [2, 1]),
      InvalidLimitError,
      /atMs 1 of arrival 1/,
    ],
    [
      'a time before the start',
      () => simulate({ rate: 1 }, [-1]),
      InvalidLimitError,
      /atMs -1 of arrival 0/,
    ],
    ['no time', () => simulate({ rate: 1 }, [NaN]), InvalidLimitError, /atMs NaN of arrival 0/],
  ])('refuses %s', (_, call, type, message) => {
    expect(call).toThrow(type);
    expect(call).toThrow(message);
  });

  it('throws when a bucket admits more than the limit promises', () => {
    const generous = { granted: true, waitUs: 0, credits: 0, fullInUs: 0 };
    jest.spyOn(MemoryStore.prototype, 'take').mockReturnValue([generous]);
    const broken = () => simulate({ rate: 10, capacity: 2 }, [0, 50, 100, 149.999]);
    expect(broken).toThrow(EnvelopeError);
    expect(broken).toThrow(/4 tokens were admitted from 0 ms to 149.999 ms.* at most 3.49999/);
    jest.restoreAllMocks();
  });
});

describe('envelopeViolation', () => {
  const limit = { rate: 10, capacity: 2 };
  const at = (...times: number[]) => times.map((atMs) => ({ atMs }));

  it('finds nothing in what is exactly at the edge', () => {
    expect(envelopeViolation(limit, at(0, 0, 100, 200, 300, 5000, 5000, 5100))).toBeUndefined();
  });

  it('finds the window that is too full by a microsecond', () => {
    expect(envelopeViolation(limit, at(0, 1000, 1000, 1099.999))).toEqual({
      fromMs: 1000,
      toMs: 1099.999,
      admitted: 3,
      most: 2.99999,
    });
  });

  it('counts costs, to the thousandth', () => {
    const costs = (...all: number[]) => all.map((cost) => ({ atMs: 0, cost }));
    expect(envelopeViolation(limit, costs(1.5, 0.5))).toBeUndefined();
    expect(envelopeViolation(limit, costs(1.5, 0.501))).toMatchObject({ admitted: 2.001, most: 2 });
  });
});
