import { type Decision } from '../core/decision';
import { PROBLEM_HEADERS, quotaExceeded, temporaryReducedCapacity } from './problem-body';

const decision = (changes: Partial<Decision>): Decision => ({
  allowed: false,
  policy: 'burst',
  key: 'ip:1.2.3.4',
  cost: 1,
  limit: 10,
  remaining: 0,
  retryAfterMs: 2001,
  resetAfterMs: 10_000,
  source: 'memory',
  degraded: false,
  ...changes,
});

describe('quotaExceeded', () => {
  it('is a problem detail of the draft, with the wait and the cost', () => {
    expect(quotaExceeded([decision({})])).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'Policy "burst" is exhausted. Retry in 3 s.',
      'violated-policies': ['burst'],
      retryAfter: 3,
      cost: 1,
    });
  });

  it('says what the call costs when some tokens are left', () => {
    const body = quotaExceeded([decision({ cost: 5, remaining: 3, retryAfterMs: 2000 })]);
    expect(body.detail).toBe('Policy "burst" has 3 left and the call costs 5. Retry in 2 s.');
    expect(body.cost).toBe(5);
  });

  it('names the refusing policies only, each once, and the longest wait', () => {
    const body = quotaExceeded([
      decision({ policy: 'a', retryAfterMs: 900 }),
      decision({ policy: 'open', allowed: true, remaining: 7, retryAfterMs: 0 }),
      decision({ policy: 'b', retryAfterMs: 60_000, cost: 2 }),
      decision({ policy: 'a', retryAfterMs: 100 }),
    ]);
    expect(body['violated-policies']).toEqual(['a', 'b']);
    expect(body.retryAfter).toBe(60);
    expect(body.cost).toBe(2);
    expect(body.detail).toBe(
      'Policy "a" is exhausted. Policy "b" has 0 left and the call costs 2. Retry in 60 s.',
    );
  });

  it('never says to retry in 0 s', () => {
    expect(quotaExceeded([decision({ retryAfterMs: 1 })]).retryAfter).toBe(1);
  });
});

describe('temporaryReducedCapacity', () => {
  it('is a 503 that does not blame the caller', () => {
    const call = { policies: ['login', 'ip', 'login'], retryAfterMs: 1500, cost: 2 };
    expect(temporaryReducedCapacity(call)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Temporary Reduced Capacity',
      status: 503,
      detail: 'The rate limit cannot be checked right now. Retry in 2 s.',
      'violated-policies': ['login', 'ip'],
      retryAfter: 2,
      cost: 2,
    });
  });

  it('never says to retry in 0 s', () => {
    const call = { policies: ['login'], retryAfterMs: 0, cost: 1 };
    expect(temporaryReducedCapacity(call).retryAfter).toBe(1);
  });
});

it('goes out as problem+json that no cache keeps', () => {
  expect(PROBLEM_HEADERS).toEqual([
    ['Content-Type', 'application/problem+json'],
    ['Cache-Control', 'no-store'],
  ]);
});
