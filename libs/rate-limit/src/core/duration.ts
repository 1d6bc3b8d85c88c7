// Pure: the units of time and the only conversions between them.

/** A period by its name, or a whole number of milliseconds. */
export type Period = 'second' | 'minute' | 'hour' | 'day' | number;

const NAMED_PERIODS_MS: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

/** The names that {@link Period} accepts, for messages. */
export const PERIOD_NAMES = Object.keys(NAMED_PERIODS_MS);

export const MS_PER_SECOND = 1000;
export const US_PER_MS = 1000;

/** Milliseconds of a period; `undefined` for an unknown name or a number that is no whole, positive count. */
export function periodMs(period: unknown): number | undefined {
  if (typeof period === 'string') {
    return Object.hasOwn(NAMED_PERIODS_MS, period) ? NAMED_PERIODS_MS[period] : undefined;
  }
  return Number.isSafeInteger(period) && (period as number) >= 1 ? (period as number) : undefined;
}

/** Whole microseconds of a time in milliseconds, rounded down: a clock never runs ahead. */
export function usFromMs(ms: number): number {
  return Math.floor(ms * US_PER_MS);
}

/** Milliseconds to wait for a number of microseconds, rounded up: "come back then" must hold. */
export function msFromUsCeil(us: number): number {
  return Math.ceil(us / US_PER_MS);
}
