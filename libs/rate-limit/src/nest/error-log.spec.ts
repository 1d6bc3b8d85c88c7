import { Logger } from '@nestjs/common';
import { InvalidCostError, StoreConfigurationError, UnknownPolicyError } from '../core/errors';
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
    log.report(new UnknownPolicyError('a'));
    log.report(new UnknownPolicyError('b'));
    log.report(new InvalidCostError('c'));
    expect(told()).toEqual(['a', 'c']);
    jest.advanceTimersByTime(9_999);
    log.report(new UnknownPolicyError('d'));
    expect(told()).toEqual(['a', 'c']);
    jest.advanceTimersByTime(1);
    log.report(new UnknownPolicyError('e'));
    expect(told()).toEqual(['a', 'c', 'e']);
  });

  it('tells what the store refuses once, whatever the key, until it has not come for ten seconds', () => {
    const log = new ErrorLog();
    const refuse = (what: string) => log.report(new StoreConfigurationError(`NOPERM (${what}). x`));
    for (let i = 0; i < 10; i++) {
      refuse(`evalsha rl:{${i}}:ip (${i})`);
      if (i === 5) refuse('del rl:{x}:a');
      jest.advanceTimersByTime(9_999);
    }
    expect(told()).toEqual(['NOPERM (evalsha rl:{0}:ip (0)). x', 'NOPERM (del rl:{x}:a). x']);
    jest.advanceTimersByTime(1);
    refuse('evalsha rl:{9}:ip');
    expect(told()).toHaveLength(3);
  });

  it('tells any other error each time', () => {
    const log = new ErrorLog();
    log.report(new Error('x'));
    log.report(new Error('x'));
    log.report('a text');
    expect(told()).toEqual(['x', 'x', 'a text']);
  });
});
