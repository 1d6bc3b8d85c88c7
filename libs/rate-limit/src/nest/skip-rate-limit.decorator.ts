// Records exemptions on classes and methods. Checks nothing: that is done at start-up.
import 'reflect-metadata';
import { SKIPS_METADATA } from './rate-limit.constants';
import { recordingDecorator, type Recording } from './recording';

/**
 * Exempts a handler, or all handlers of a class: without names from every limit, those of `always`
 * included; with names from these only. The nearest wins: a method with `@RateLimit` in a skipped
 * class is limited.
 */
export function SkipRateLimit(...names: string[]): Recording {
  return recordingDecorator(SKIPS_METADATA, names);
}
