import { Logger } from '@nestjs/common';
import { StoreConfigurationError, UnknownPolicyError } from '../core/errors';
import { ErrorLog } from './error-log';

describe('ErrorLog', () => {
  const error = jest.spyOn(Logger.prototype, 'error').mockImplementation();
  const told = () => error.mock.calls.map(([message]) => message as string);

  beforeEach(() => {
    jest.useFakeTimers();
    error.mockClear();
  });
  afterAll(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('tells an error of ours once in ten seconds a kind', () => {
    const log = new ErrorLog();
    log.report(new StoreConfigurationError('a'));
    log.report(new StoreConfigurationError('b'));
    log.report(new UnknownPolicyError('c'));
    expect(told()).toEqual(['a', 'c']);
    jest.advanceTimersByTime(9_999);
    log.report(new StoreConfigurationError('d'));
    expect(told()).toEqual(['a', 'c']);
    jest.advanceTimersByTime(1);
    log.report(new StoreConfigurationError('e'));
    expect(told()).toEqual(['a', 'c', 'e']);
  });

  it('tells any other error each time', () => {
    const log = new ErrorLog();
    log.report(new Error('x'));
    log.report(new Error('x'));
    log.report('a text');
    expect(told()).toEqual(['x', 'x', 'a text']);
  });
});
