// Pure: checks of what is submitted, before anything is asked of a store.
import {
  CostExceedsCapacityError,
  InvalidCostError,
  InvalidLimitError,
  MissingKeyError,
} from '../core/errors';
import { costThousandths, shown, THOUSANDTHS_PER_TOKEN } from '../core/limit';
import type { BucketNumbers } from './lane';

/** How long a result is waited for when nothing is said. */
const RESULT_TIMEOUT_MS = 60_000;

/** The payload as JSON. @throws InvalidLimitError for what JSON cannot hold, or would drop without a word */
export function serialised(data: unknown, place: string): string {
  let text: string | undefined;
  let why = 'it is undefined or a function';
  try {
    text = JSON.stringify(data, refuseCode);
  } catch (error) {
    why = String(error);
  }
  if (text === undefined) {
    throw new InvalidLimitError(`${place}: the payload cannot be written as JSON: ${why}`);
  }
  return text;
}

function refuseCode(name: string, value: unknown): unknown {
  if (name !== '' && (typeof value === 'function' || typeof value === 'symbol')) {
    throw new TypeError(`${shown(name)} is a ${typeof value}`);
  }
  return value;
}

/** A cost in thousandths of a token. @throws InvalidCostError, CostExceedsCapacityError */
export function checkedCost(cost: number, [, q, capacity]: BucketNumbers, queue: string): number {
  if (typeof cost !== 'number' || !(cost > 0 && cost < Infinity)) {
    throw new InvalidCostError(
      `queue ${queue}: cost ${shown(cost)} is not a positive finite number`,
    );
  }
  const thousandths = costThousandths(cost);
  if (thousandths * q > capacity) {
    throw new CostExceedsCapacityError(
      `queue ${queue}: cost ${cost} is more than the capacity ${capacity / (q * THOUSANDTHS_PER_TOKEN)}: it could never start`,
    );
  }
  return thousandths;
}

/** @throws MissingKeyError */
export function checkIdempotencyKey(key: unknown): asserts key is string {
  if (typeof key !== 'string' || key === '') {
    throw new MissingKeyError(`idempotencyKey ${shown(key)} is not a non-empty string`);
  }
}

/** How long `result` waits, in ms. @throws InvalidLimitError */
export function checkedTimeout(timeoutMs: number = RESULT_TIMEOUT_MS): number {
  if (!(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    throw new InvalidLimitError(
      `result: timeoutMs ${shown(timeoutMs)} is not a number of at least 0`,
    );
  }
  return timeoutMs;
}
