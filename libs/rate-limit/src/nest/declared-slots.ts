// What the notes of @ConcurrencyLimit say on one class or method.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { DEFAULT_CONCURRENCY_NAME } from '../limiter/concurrency-limit';
import { checkKeys } from './limit-options';
import type { ConcurrencyLimitOptions } from './rate-limit.options';

const KNOWN_KEYS = [
  'max',
  'leaseMs',
  'name',
  'key',
  'scope',
  'skip',
  'onStoreFailure',
  'localShare',
  'mode',
];

/** What @ConcurrencyLimit says on one class or method, by name. @throws InvalidLimitError for two of one name */
export function declaredSlots(
  notes: readonly (readonly unknown[])[],
  place: string,
): ReadonlyMap<string, ConcurrencyLimitOptions> {
  const byName = new Map<string, ConcurrencyLimitOptions>();
  for (const [options] of notes) {
    checkKeys(options, KNOWN_KEYS, `${place}: @ConcurrencyLimit`);
    const { name = DEFAULT_CONCURRENCY_NAME } = options as ConcurrencyLimitOptions;
    if (byName.has(name)) {
      throw new InvalidLimitError(
        `${place}: two concurrency limits have the name ${shown(name)}: give one of them another name`,
      );
    }
    byName.set(name, options as ConcurrencyLimitOptions);
  }
  return byName;
}
