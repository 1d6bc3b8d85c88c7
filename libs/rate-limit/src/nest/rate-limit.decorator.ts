// Records limits on classes and methods. Checks nothing: that is done at start-up, for all at once.
import 'reflect-metadata';
import { isDeferTo } from './on-limit';
import { RATE_LIMITS_METADATA } from './rate-limit.constants';
import type { RateLimitOptions } from './rate-limit.options';
import { recordingDecorator, type Recording } from './recording';

/** Options beside a policy's name: everything but numbers. */
export type NamedLimitOptions = Omit<
  RateLimitOptions,
  'rate' | 'per' | 'capacity' | 'algorithm' | 'name'
>;
/** Options beside rate and capacity. */
export type NumberedLimitOptions = Omit<RateLimitOptions, 'rate' | 'capacity'>;

/** The module's tier table, by the caller's tier: one bucket a caller over all routes. */
export function RateLimit(): Recording;
/** A named policy of the module: one bucket a key everywhere. The options may set key, cost, scope …. */
export function RateLimit(policy: string, options?: NamedLimitOptions): Recording;
/**
 * Limits the calls of a handler, or of each handler of a class.
 *
 * `@RateLimit(10)`, `@RateLimit(10, 20)`, `@RateLimit(100, 200, 'pro')`. May stand several times on
 * one target, with different names or tiers. Limits of class and method add up; a method's limit of
 * a name replaces the class's of that name.
 *
 * @param rate tokens a second (or `per`); positive and finite
 * @param capacity the largest burst; at least 1. @default 2 × rate
 * @param tiersOrOptions for callers of this tier (or these) only; or further options
 */
export function RateLimit(
  rate: number,
  capacity?: number,
  tiersOrOptions?: string | readonly string[] | NumberedLimitOptions,
): Recording;
/** Numbers with options. Without `rate`: the tier table (else the module's `limit`) with these options. */
export function RateLimit(options: RateLimitOptions): Recording;
export function RateLimit(...args: unknown[]): Recording {
  const record = recordingDecorator(RATE_LIMITS_METADATA, args) as MethodDecorator;
  const onLimits = args.map((each) => (each as RateLimitOptions | null | undefined)?.onLimit);
  const to = onLimits.find(isDeferTo);
  if (to === undefined) return record as Recording;
  const defer: MethodDecorator = (target, method, descriptor) => {
    record(target, method, descriptor);
    to.wrap(target, method, descriptor);
  };
  return defer as Recording;
}
