import {
  CostExceedsCapacityError,
  InvalidCostError,
  InvalidLimitError,
  LimiterClosedError,
  MissingKeyError,
  RateLimitError,
  StoreConfigurationError,
  StoreTimeoutError,
  StoreUnavailableError,
  UnknownPolicyError,
  UnsupportedOperationError,
} from './errors';

const family = [
  [InvalidLimitError, 'RATE_LIMIT_INVALID_LIMIT', 500],
  [UnknownPolicyError, 'RATE_LIMIT_UNKNOWN_POLICY', 500],
  [InvalidCostError, 'RATE_LIMIT_INVALID_COST', 500],
  [CostExceedsCapacityError, 'RATE_LIMIT_COST_EXCEEDS_CAPACITY', 413],
  [MissingKeyError, 'RATE_LIMIT_MISSING_KEY', 400],
  [StoreUnavailableError, 'RATE_LIMIT_STORE_UNAVAILABLE', 503],
  [StoreTimeoutError, 'RATE_LIMIT_STORE_TIMEOUT', 503],
  [StoreConfigurationError, 'RATE_LIMIT_STORE_CONFIGURATION', 500],
  [UnsupportedOperationError, 'RATE_LIMIT_UNSUPPORTED_OPERATION', 500],
  [LimiterClosedError, 'RATE_LIMIT_LIMITER_CLOSED', 503],
] as const;

describe('the error family', () => {
  it.each(family)('%p has its code, name and status', (Class, code, httpStatus) => {
    const error = new Class('what to do');
    expect(error).toMatchObject({ code, httpStatus, name: Class.name, message: 'what to do' });
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toBeInstanceOf(Error);
  });

  it('carries a cause', () => {
    const cause = new Error('socket');
    expect(new StoreUnavailableError('out', { cause }).cause).toBe(cause);
  });

  it('answers 401 where a user was expected', () => {
    expect(new MissingKeyError('who?', 401).httpStatus).toBe(401);
  });
});

describe('RateLimitError.is', () => {
  it('knows its own class, subclasses and the base', () => {
    const error = new StoreTimeoutError('late');
    expect(StoreTimeoutError.is(error)).toBe(true);
    expect(StoreUnavailableError.is(error)).toBe(true);
    expect(RateLimitError.is(error)).toBe(true);
    expect(InvalidCostError.is(error)).toBe(false);
    expect(StoreTimeoutError.is(new StoreUnavailableError('out'))).toBe(false);
  });

  it('knows errors of another copy of the package', () => {
    let copy: typeof import('./errors') | undefined;
    jest.isolateModules(() => {
      copy = require('./errors') as typeof import('./errors');
    });
    const other = copy as typeof import('./errors');
    const late = new other.StoreTimeoutError('late');
    expect(late).not.toBeInstanceOf(StoreTimeoutError);
    expect(StoreTimeoutError.is(late)).toBe(true);
    expect(RateLimitError.is(late)).toBe(true);
    expect(StoreUnavailableError.is(late)).toBe(true);
    expect(InvalidCostError.is(late)).toBe(false);
    expect(StoreTimeoutError.is(new other.StoreUnavailableError('out'))).toBe(false);
  });

  it.each([
    undefined,
    null,
    'RATE_LIMIT_INVALID_COST',
    { code: 'RATE_LIMIT_INVALID_COST', name: 'InvalidCostError' },
    new Error('plain'),
    Object.assign(new Error('system'), { code: 'ECONNREFUSED' }),
  ])('is false for %p', (error) => {
    expect(RateLimitError.is(error)).toBe(false);
    expect(InvalidCostError.is(error)).toBe(false);
  });
});
