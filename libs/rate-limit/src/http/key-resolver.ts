// Knows what a key resolver is and what counts as "no key"; must not know any kind of key.
import { InvalidLimitError, MissingKeyError } from '../core/errors';
import { type Caller } from './caller';
import { type MaybePromise, whenThere } from './maybe-promise';

/** What a resolver may answer. `undefined`, `null`, '' and NaN: this caller has no such key. */
export type KeyValue = string | number | bigint | undefined | null;

/** What to tell a caller without a key. */
export interface MissingKey {
  /** 401 where logging in would help, else 400. */
  readonly status: 400 | 401;
  /** A clause for the message, such as `the request has no header "x-api-key"`. */
  readonly what: string;
}

/**
 * Says whose bucket a call belongs to. A function of one's own is used as it stands: its text is the key, the same
 * text that a service call would name. Text that the client chose should carry its kind: see `headerKey` and its like.
 * A resolver that throws anything but a MissingKeyError fails the call.
 *
 * @typeParam Context what the framework knows of the call (Nest: `ExecutionContext`).
 */
export interface KeyResolver<Context = unknown> {
  (caller: Caller, context: Context): MaybePromise<KeyValue>;
  /** How to report a missing key; default 400. */
  readonly missing?: MissingKey;
  /** What the key is, for the warnings at the start. Left out: what `parts` say, or a function of one's own. */
  readonly kind?: KeyKind;
  /** The functions that it is made of. */
  readonly parts?: readonly KeyPart[];
}

/** The kinds of keys that are known here. */
export type KeyKind = 'ip' | 'header' | 'user' | 'body';

/** A resolver in another one, or a function that one asks. */
export type KeyPart = ((...args: never[]) => unknown) & Pick<KeyResolver, 'kind' | 'parts'>;

/** The functions at the bottom of a resolver: of `firstOf(byUser(), byIp())` those two. */
export function leavesOf(part: KeyPart): readonly KeyPart[] {
  return part.parts === undefined ? [part] : part.parts.flatMap(leavesOf);
}

const UNSAID: MissingKey = { status: 400, what: 'the key resolver found nothing' };

/** How to report that `resolver` found no key. */
export function missingOf(resolver: Pick<KeyResolver, 'missing'>): MissingKey {
  return resolver.missing ?? UNSAID;
}

/**
 * The text of a key, or `undefined` when there is none: `undefined`, `null`, '', NaN and the infinities, which are
 * results of arithmetic on something missing. Numbers and bigints become their decimal text; text is kept as it is.
 *
 * @throws InvalidLimitError for anything else: "[object Object]" would be one bucket for everybody.
 */
export function keyText(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value === '' ? undefined : value;
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'bigint':
      return String(value);
    case 'undefined':
      return undefined;
    default:
      if (value === null) return undefined;
      throw new InvalidLimitError(
        `a key resolver gave a value of type ${typeof value}: give a string, a number or a bigint (of an object, the text of its id)`,
      );
  }
}

/** The error for a caller in whom `resolver` found no key. */
export function missingKeyError(resolver: Pick<KeyResolver, 'missing'>): MissingKeyError {
  const { status, what } = missingOf(resolver);
  return new MissingKeyError(`no key to limit this call by: ${what}`, status);
}

/**
 * The key that `resolver` finds, as text; at once when the resolver answers at once.
 *
 * @throws MissingKeyError when it finds none (rejects with it, when the resolver is asynchronous).
 */
export function resolveKey<Context>(
  resolver: KeyResolver<Context>,
  caller: Caller,
  context: Context,
): MaybePromise<string> {
  return whenThere(resolver(caller, context), (value) => {
    const text = keyText(value);
    if (text === undefined) throw missingKeyError(resolver);
    return text;
  });
}
