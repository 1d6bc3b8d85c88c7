// Knows how to make one key resolver of several; must not know any kind of key. Synchronous as long as its parts are.
import { InvalidLimitError, MissingKeyError } from '../core/errors';
import { type Caller } from './caller';
import { keyText, type KeyResolver, type MissingKey, missingOf, resolveKey } from './key-resolver';
import { allOfKey } from './key-text';
import { type MaybePromise, whenThere } from './maybe-promise';

/**
 * The key of the first resolver that finds one: `firstOf(byHeader('x-api-key'), byIp())`. Goes on after a missing key
 * (`undefined`, `null`, '', NaN, a MissingKeyError), not after any other error. None found: 401 if one of them
 * would say 401, since logging in would help, else 400.
 *
 * @throws InvalidLimitError for an empty list or something that is no function.
 */
export function firstOf<Context = unknown>(
  ...resolvers: ReadonlyArray<KeyResolver<Context>>
): KeyResolver<Context> {
  checkResolvers('firstOf', resolvers);
  const from = (
    index: number,
    caller: Caller,
    context: Context,
  ): MaybePromise<string | undefined> => {
    if (index === resolvers.length) return undefined;
    return whenThere(
      findKey(resolvers[index], caller, context),
      (text) => text ?? from(index + 1, caller, context),
    );
  };
  return Object.assign((caller: Caller, context: Context) => from(0, caller, context), {
    missing: summary(resolvers),
    parts: resolvers,
  });
}

/**
 * The keys of all resolvers together, in order: `allOf(byBody('email'), byIp())`. One that finds nothing makes the
 * whole key missing, with that one's own MissingKeyError. Asked one after the other.
 *
 * @throws InvalidLimitError for an empty list or something that is no function.
 */
export function allOf<Context = unknown>(
  ...resolvers: ReadonlyArray<KeyResolver<Context>>
): KeyResolver<Context> {
  checkResolvers('allOf', resolvers);
  const from = (
    parts: readonly string[],
    caller: Caller,
    context: Context,
  ): MaybePromise<string> => {
    if (parts.length === resolvers.length) return allOfKey(...parts);
    return whenThere(resolveKey(resolvers[parts.length], caller, context), (part) =>
      from([...parts, part], caller, context),
    );
  };
  return Object.assign((caller: Caller, context: Context) => from([], caller, context), {
    missing: summary(resolvers),
    parts: resolvers,
  });
}

function checkResolvers(name: string, resolvers: readonly unknown[]): void {
  if (resolvers.length === 0) {
    throw new InvalidLimitError(`${name}(): give at least one key resolver`);
  }
  for (const resolver of resolvers) {
    if (typeof resolver !== 'function') {
      throw new InvalidLimitError(
        `${name}(…): ${String(resolver)} (${typeof resolver}) is no key resolver, which is a function`,
      );
    }
  }
}

/** The key as text, or `undefined`, also where the resolver says so by an error. */
function findKey<Context>(
  resolver: KeyResolver<Context>,
  caller: Caller,
  context: Context,
): MaybePromise<string | undefined> {
  try {
    const text = whenThere(resolver(caller, context), keyText);
    return text instanceof Promise ? text.catch(noKeyIfMissing) : text;
  } catch (error) {
    return noKeyIfMissing(error);
  }
}

function noKeyIfMissing(error: unknown): undefined {
  if (!MissingKeyError.is(error)) throw error;
  return undefined;
}

/** What to say when all of them are missing. */
function summary(resolvers: ReadonlyArray<Pick<KeyResolver, 'missing'>>): MissingKey {
  const parts = resolvers.map(missingOf);
  return {
    status: parts.some((part) => part.status === 401) ? 401 : 400,
    what: [...new Set(parts.map((part) => part.what))].join(', and '),
  };
}
