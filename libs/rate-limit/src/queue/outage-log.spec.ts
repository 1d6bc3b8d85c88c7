import { StoreConfigurationError, StoreTimeoutError } from '../core/errors';
import { FakeClock } from '../testing/fake-clock';
import { OutageLog } from './outage-log';

const lines: string[] = [];
const logger = {
  error: (message: string) => lines.push(`ERROR ${message}`),
  log: (message: string) => lines.push(message),
};
let clock: FakeClock;
let log: OutageLog;
beforeEach(() => {
  lines.length = 0;
  clock = new FakeClock();
  log = new OutageLog(logger, clock);
});

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
  code: 'ECONNREFUSED',
});

describe('OutageLog', () => {
  it('tells an outage once, and its end once', () => {
    for (let i = 0; i < 100; i++) {
      log.error(i % 2 ? refused : new StoreTimeoutError('late'));
      clock.advance(100);
    }
    clock.advance(1000);
    log.answered();
    log.answered();
    expect(lines).toEqual(['ERROR Redis is away: late', 'Redis answers again']);
    log.error(refused);
    expect(lines).toHaveLength(3);
  });

  it('does not take one connection that is back for all of them', () => {
    log.error(refused);
    clock.advance(999);
    log.answered();
    log.error(refused);
    expect(lines).toHaveLength(1);
  });

  it('says nothing of answers while nothing was out', () => {
    log.answered();
    expect(lines).toEqual([]);
  });

  it.each([
    refused,
    Object.assign(new Error(''), { code: 'ECONNREFUSED' }),
    new Error('Connection is closed.'),
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    reply('LOADING Redis is loading the dataset in memory'),
    reply("READONLY You can't write against a read only replica."),
  ])('takes %p for an outage', (error) => {
    log.error(error);
    log.error(error);
    expect(lines).toEqual([expect.stringMatching(/^ERROR Redis is away: ./)]);
  });

  it.each([
    new StoreConfigurationError('Redis refuses the rate limiter: NOPERM'),
    reply("NOPERM this user has no permissions to run the 'evalsha' command"),
    reply('WRONGPASS invalid username-password pair or user is disabled.'),
  ])('tells the refusal %p once, and again when it was gone for a minute', (error) => {
    for (let i = 0; i < 1000; i++) {
      log.error(error);
      log.answered();
      clock.advance(100);
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^ERROR Redis refuses .*(NOPERM|WRONGPASS)/);
    clock.advance(60_001);
    log.error(error);
    expect(lines).toHaveLength(2);
  });

  it('tells everything else as it comes', () => {
    const lost = new Error('could not renew lock for job 7');
    log.error(lost);
    log.error(lost);
    log.error('text');
    expect(lines).toEqual([`ERROR ${lost.message}`, `ERROR ${lost.message}`, 'ERROR text']);
  });
});
