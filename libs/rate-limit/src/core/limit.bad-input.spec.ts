import { InvalidLimitError } from './errors';
import { parseLimit, shown, type Limit } from './limit';

const PLACE = 'RateLimitModule: tiers.free';

function parsed(limit: Limit) {
  return parseLimit(limit, PLACE);
}

describe('parseLimit: what makes no sense', () => {
  const wrongNumbers = [
    0,
    -0,
    -1,
    NaN,
    Infinity,
    -Infinity,
    '10',
    '',
    null,
    true,
    {},
    [10],
    10n,
    () => 10,
  ];

  it.each([...wrongNumbers, undefined, 9e-10, 1.1e12])('rate %p', (rate) => {
    const attempt = () => parsed({ rate } as never);
    expect(attempt).toThrow(InvalidLimitError);
    expect(attempt).toThrow(
      `${PLACE}: rate ${shown(rate)} is not a number from 1e-9 to 1000000000000`,
    );
  });

  it.each([...wrongNumbers, 0.5, 0.999, 2 ** 53])('capacity %p', (capacity) => {
    const attempt = () => parsed({ rate: 1, capacity } as never);
    expect(attempt).toThrow(InvalidLimitError);
    expect(attempt).toThrow(`${PLACE}: capacity ${shown(capacity)} is not a number from 1 to `);
  });

  it.each([...wrongNumbers, 'seconds', 'constructor', 1.5, 2 ** 53])('per %p', (per) => {
    const attempt = () => parsed({ rate: 1, per } as never);
    expect(attempt).toThrow(InvalidLimitError);
    expect(attempt).toThrow(
      `${PLACE}: per ${shown(per)} is not a period: use "second", "minute", "hour", "day" or`,
    );
  });

  it.each(['Free', '1a', '', 'a b', 'a:b', 'ä', 'a'.repeat(65), 7, null, {}])('name %p', (name) => {
    const attempt = () => parsed({ rate: 1, name } as never);
    expect(attempt).toThrow(InvalidLimitError);
    expect(attempt).toThrow(`${PLACE}: name ${shown(name)} is not a policy name`);
  });

  it.each(['token_bucket', 'gcra', 5, null])('algorithm %p', (algorithm) => {
    expect(() => parsed({ rate: 1, algorithm } as never)).toThrow(
      `${PLACE}: algorithm ${shown(algorithm)} is unknown: use one of token-bucket, `,
    );
  });

  it.each(['sliding-window', 'fixed-window'] as const)(
    '%s with another capacity than its rate',
    (algorithm) => {
      expect(() => parsed({ rate: 10, capacity: 20, algorithm })).toThrow(
        `${PLACE}: capacity 20 is not the rate 10: algorithm "${algorithm}" lets rate tokens through a window`,
      );
      expect(() => parsed({ rate: 0.5, algorithm })).toThrow(
        `${PLACE}: rate 0.5 is not a number from 1`,
      );
      expect(() => parsed({ rate: 1e12, algorithm })).toThrow('cannot be counted exactly');
      expect(() => parsed({ rate: 10, per: 1e13, algorithm })).toThrow('cannot be counted exactly');
      expect(parsed({ rate: 10, capacity: 10, algorithm })).toEqual(
        parsed({ rate: 10, algorithm }),
      );
    },
  );

  it.each([undefined, null, 10, '10', [], () => 1])('a limit that is %p', (limit) => {
    expect(() => parseLimit(limit as never, PLACE)).toThrow(InvalidLimitError);
    expect(() => parseLimit(limit as never, PLACE)).toThrow(PLACE);
  });

  it.each<[string, Limit]>([
    ['1e-6/s of 10 000: 317 years to fill', { rate: 1e-6, capacity: 10_000 }],
    ['1e-9/s of 3', { rate: 1e-9, capacity: 3 }],
    ['pi/s of 1e12', { rate: Math.PI, capacity: 1e12 }],
    ['1/s of 2^53 - 1', { rate: 1, capacity: Number.MAX_SAFE_INTEGER }],
    ['one in the longest period', { rate: 1, per: Number.MAX_SAFE_INTEGER }],
  ])('%s', (_, limit) => {
    expect(() => parsed(limit)).toThrow(InvalidLimitError);
    expect(() => parsed(limit)).toThrow(
      `${PLACE}: rate ${limit.rate} per ${shown(limit.per ?? 'second')} with capacity ${limit.capacity ?? 'left out'} cannot be counted exactly`,
    );
  });
});
