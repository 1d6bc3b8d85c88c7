import {
  InvalidCostError,
  StoreConfigurationError,
  StoreUnavailableError,
  UnsupportedOperationError,
} from '../../core/errors';
import { isConfigurationError, isUnknownScript, storeError } from './redis-errors';

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

const outages = [
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica. script: 9b8c, on @user_script:52.",
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'CLUSTERDOWN The cluster is down',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'MOVED 3999 127.0.0.1:6381',
  'ASK 3999 127.0.0.1:6381',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'UNKILLABLE Sorry the script already executed write commands against the dataset.',
  "OOM command not allowed when used memory > 'maxmemory'. script: 9b8c, on @user_script:52.",
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist on disk.',
  'NOREPLICAS Not enough good replicas to write.',
  'ERR max number of clients reached',
  // Redis 6 wraps what fails inside a script.
  "ERR Error running script (call to f_9b8c): @user_script:52: @user_script: 52: -OOM command not allowed when used memory > 'maxmemory'.",
  "ERR Error running script (call to f_9b8c): @user_script:52: -READONLY You can't write against a read only replica.",
  'ERR Error running script (call to f_9b8c): @user_script:52: @user_script: 52: -MISCONF Redis is configured to save RDB snapshots',
];

const refusals = [
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
  "NOPERM User app has no permissions to run the 'evalsha' command",
  'NOPERM No permissions to access a key',
  'WRONGTYPE Operation against a key holding the wrong kind of value script: 9b8c, on @user_script:30.',
  "CROSSSLOT Keys in request don't hash to the same slot",
  'ERR Error running script (call to f_9b8c): @user_script:30: WRONGTYPE Operation against a key holding the wrong kind of value',
  "ERR The user executing the script can't run this command or subcommand script: 9b8c, on @user_script:30.",
  "ERR unknown command 'evalsha'",
  'ERR user_script:3: attempt to perform arithmetic on a nil value',
  'RATELIMIT price out of range',
  'NOSCRIPT No matching script. Please use EVAL.',
];

const ofTheClient = [
  new Error('Connection is closed.'),
  new Error("Stream isn't writeable and enableOfflineQueue options is false"),
  Object.assign(new Error('Reached the max retries per request limit'), {
    name: 'MaxRetriesPerRequestError',
  }),
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('Failed to refresh slots cache.'), { name: 'ClusterAllFailedError' }),
  new Error('WRONGTYPE said by somebody who is no server'),
  'a string',
  undefined,
];

describe('storeError', () => {
  it.each(outages)('passes: %s', (message) => {
    const error = storeError(reply(message));
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.message).toContain(message);
    expect(isConfigurationError(reply(message))).toBe(false);
  });

  it.each(refusals)('stays: %s', (message) => {
    const cause = reply(message);
    const error = storeError(cause);
    expect(error).toBeInstanceOf(StoreConfigurationError);
    expect(error.message).toContain(message);
    expect(error.cause).toBe(cause);
  });

  it.each(ofTheClient)('passes, of the client: %p', (cause) => {
    const error = storeError(cause);
    expect(error).toBeInstanceOf(StoreUnavailableError);
    expect(error.cause).toBe(cause);
  });

  it('leaves errors of the family alone', () => {
    for (const error of [new InvalidCostError('x'), new UnsupportedOperationError('y')]) {
      expect(storeError(error)).toBe(error);
    }
  });
});

describe('isUnknownScript', () => {
  it('is true for NOSCRIPT of a server alone', () => {
    expect(isUnknownScript(reply('NOSCRIPT No matching script. Please use EVAL.'))).toBe(true);
    expect(isUnknownScript(new Error('NOSCRIPT'))).toBe(false);
    expect(isUnknownScript(reply('ERR NOSCRIPT'))).toBe(false);
  });
});

it('names the line of the script that was refused', () => {
  const denied = reply(
    "ERR The user executing the script can't run this command or subcommand script: 9b8c, on @user_script:2.",
  );
  expect(
    storeError(denied, "local a = 1\n  redis.call('ZADD', KEYS[1], 1, a)\n").message,
  ).toContain("(redis.call('ZADD', KEYS[1], 1, a))");
});

it.each([
  [{ name: 'evalsha', args: ['9b8c', '2', 'rl:{q}:a', 'rl:{q}:b'] }, '(evalsha rl:{q}:a)'],
  [{ name: 'get', args: ['rl:x'] }, '(get rl:x)'],
  [{ name: 'info' }, '(info)'],
])('names the command and the key that were refused: %p', (command, named) => {
  const denied = Object.assign(reply('NOPERM No permissions to access a key'), { command });
  expect(storeError(denied).message).toContain(named);
});
