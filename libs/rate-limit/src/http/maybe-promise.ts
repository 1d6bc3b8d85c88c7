// Knows how to go on with a value that may still be on its way, without a needless promise when it is there.

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with `value`: at once when it is there, when it settles otherwise. */
export function whenThere<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}

// Not `instanceof Promise`: promises of other realms and of query builders are promises too.
function isThenable<T>(value: MaybePromise<T>): value is Promise<T> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}
