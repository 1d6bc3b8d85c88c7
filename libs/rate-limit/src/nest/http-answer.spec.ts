import { NotFoundException } from '@nestjs/common';
import {
  CostExceedsCapacityError,
  InvalidCostError,
  InvalidLimitError,
  LimiterClosedError,
  MissingKeyError,
  StoreConfigurationError,
  StoreTimeoutError,
  StoreUnavailableError,
  TooManyWaitersError,
  UnknownPolicyError,
  UnsupportedOperationError,
  WaitTooLongError,
} from '../core/errors';
import { httpAnswer } from './http-answer';

describe('httpAnswer', () => {
  it.each([
    [new MissingKeyError('m'), 400, 'm'],
    [new MissingKeyError('m', 401), 401, 'm'],
    [new CostExceedsCapacityError('m'), 413, 'm'],
    [new InvalidCostError('secret'), 500, 'Internal server error'],
    [new InvalidLimitError('secret'), 500, 'Internal server error'],
    [new UnknownPolicyError('secret'), 500, 'Internal server error'],
    [new UnsupportedOperationError('secret'), 500, 'Internal server error'],
    [new StoreConfigurationError('secret'), 500, 'Internal server error'],
    [new TypeError('secret'), 500, 'Internal server error'],
    ['a text', 500, 'Internal server error'],
  ])('%p', (error, status, message) => {
    const { exception, headers } = httpAnswer(error);
    expect(exception.getStatus()).toBe(status);
    expect(exception.getResponse()).toMatchObject({ statusCode: status, message });
    expect(exception.cause).toBe(error);
    expect(headers).toEqual([]);
  });

  it.each([
    new StoreUnavailableError('secret'),
    new StoreTimeoutError('secret'),
    new LimiterClosedError('secret'),
    new TooManyWaitersError('secret'),
  ])('%p: 503, and when to come back', (error) => {
    const { exception, headers } = httpAnswer(error, { policies: ['a', 'a'], cost: 3 });
    expect(exception.getStatus()).toBe(503);
    expect(exception.cause).toBe(error);
    expect(JSON.stringify(exception.getResponse())).not.toContain('secret');
    expect(exception.getResponse()).toMatchObject({ 'violated-policies': ['a'], cost: 3 });
    expect(Object.fromEntries(headers)).toEqual({
      'Cache-Control': 'no-store',
      'Retry-After': '1',
      // This process is about to end: the next try should reach another one.
      ...(LimiterClosedError.is(error) && { Connection: 'close' }),
    });
  });

  it('a wait that is too long: 429, and how long it would be', () => {
    const { exception, headers } = httpAnswer(new WaitTooLongError('secret', 4001));
    expect(exception.getResponse()).toMatchObject({
      title: 'Quota Exceeded',
      status: 429,
      detail: 'The wait would be too long. Retry in 5 s.',
      retryAfter: 5,
    });
    expect(Object.fromEntries(headers)).toMatchObject({ 'Retry-After': '5' });
  });

  it('an HTTP exception is the application’s own word', () => {
    const exception = new NotFoundException();
    expect(httpAnswer(exception)).toEqual({ exception, headers: [] });
  });
});
