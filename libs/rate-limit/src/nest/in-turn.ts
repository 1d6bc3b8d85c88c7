// One thing after the other, without a promise as long as no one needs one.
import { type MaybePromise, whenThere } from '../http/maybe-promise';

/**
 * The results of `ask` for each item, asked one after the other: when one fails, the rest are not
 * asked, so no rejection is left without a listener.
 */
export function inTurn<T, R>(
  items: readonly T[],
  ask: (item: T) => MaybePromise<R>,
  done: readonly R[] = [],
): MaybePromise<R[]> {
  const results = [...done];
  while (results.length < items.length) {
    const result = ask(items[results.length]);
    if (isPromise(result)) {
      return whenThere(result, (settled) => inTurn(items, ask, [...results, settled]));
    }
    results.push(result);
  }
  return results;
}

function isPromise<R>(result: MaybePromise<R>): result is Promise<R> {
  return (
    typeof result === 'object' &&
    result !== null &&
    typeof (result as { then?: unknown }).then === 'function'
  );
}
