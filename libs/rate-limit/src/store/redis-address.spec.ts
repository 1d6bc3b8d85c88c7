import { InvalidLimitError } from '../core/errors';
import { checkRedisAddress } from './redis-address';

describe('checkRedisAddress', () => {
  it.each<[unknown]>([
    ['redis://'],
    ['redis://h'],
    ['REDIS://h:6379/'],
    ['rediss://user:p%40ss@h:6380/15?family=6'],
    ['redis://[::1]:6379/1/'],
    ['//h:6379/2'],
    ['/tmp/redis.sock?db=2'],
    [{}],
    [{ port: '6379', db: '3' }],
    [{ path: '/tmp/redis.sock', tls: {}, username: null, password: null }],
    [{ sentinels: [{ host: 'a', port: 26_379 }], name: 'main' }],
  ])('lets %p pass, as ioredis does', (address) => {
    expect(() => checkRedisAddress(address, 'here')).not.toThrow();
  });

  it.each<[unknown]>([
    ['h:6379'],
    ['http://h'],
    ['redis://h:70000'],
    ['redis://h:port'],
    ['redis://h?port=x'],
    ['redis://h/one'],
    ['redis://h?db=-3'],
    ['/tmp/redis.sock?db=x'],
    [{ port: 70_000 }],
    [{ port: 1.5 }],
    [{ db: Number.NaN }],
    [{ host: 5 }],
    [null],
    [6379],
  ])('refuses %p with the place', (address) => {
    expect(() => checkRedisAddress(address, 'here')).toThrow(InvalidLimitError);
    expect(() => checkRedisAddress(address, 'here')).toThrow(/^here/);
  });

  it('shows no password', () => {
    for (const secret of ['redis://u:hunter2@h:0', '/tmp/s?db=x&password=hunter2']) {
      expect(() => checkRedisAddress(secret, 'here')).not.toThrow('hunter2');
    }
  });
});
