import { msFromUsCeil, periodMs, usFromMs } from './duration';

describe('periodMs', () => {
  it.each([
    ['second', 1000],
    ['minute', 60_000],
    ['hour', 3_600_000],
    ['day', 86_400_000],
    [1, 1],
    [250, 250],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('%p is %p ms', (period, ms) => expect(periodMs(period)).toBe(ms));

  it.each([
    'seconds',
    'Second',
    '',
    'toString',
    '__proto__',
    '1000',
    0,
    -1,
    1.5,
    NaN,
    Infinity,
    2 ** 53,
    null,
    undefined,
    {},
    [1000],
    true,
  ])('%p is no period', (period) => expect(periodMs(period)).toBeUndefined());
});

describe('between milliseconds and microseconds', () => {
  it.each([
    [0, 0],
    [1, 1000],
    [0.0009, 0],
    [1.2345, 1234],
    [1_767_225_600_000, 1_767_225_600_000_000],
  ])('a clock at %p ms reads %p whole µs', (ms, us) => expect(usFromMs(ms)).toBe(us));

  it.each([
    [0, 0],
    [1, 1],
    [999, 1],
    [1000, 1],
    [1001, 2],
    [2 ** 51, 2_251_799_813_686],
  ])('a wait of %p µs is over after %p whole ms', (us, ms) => expect(msFromUsCeil(us)).toBe(ms));
});
