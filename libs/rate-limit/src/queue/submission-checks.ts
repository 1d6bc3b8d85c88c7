// Pure: checks of what is submitted, before anything is asked of a store.
import {
  CostExceedsCapacityError,
  InvalidCostError,
  InvalidLimitError,
  MissingKeyError,
} from '../core/errors';
import { costThousandths, shown, THOUSANDTHS_PER_TOKEN } from '../core/limit';
import { checkOptions, checkSignal } from '../limiter/call-checks';
import type { BucketNumbers } from './lane';
import type { ResultOptions } from './queue-face';

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

/** @throws InvalidLimitError unless it can be the id of a job */
export function checkJobId(id: unknown, queue: string): asserts id is string {
  if (typeof id === 'string' && id !== '') return;
  throw new InvalidLimitError(`queue ${queue}: ${shown(id)} is not the id of a job`);
}

/** @throws InvalidLimitError unless all items of `submitMany` are some */
export function checkItems(items: unknown, queue: string): void {
  const place = `queue ${queue}: submitMany`;
  if (!Array.isArray(items)) {
    throw new InvalidLimitError(`${place}: ${shown(items)} is not a list of items`);
  }
  for (const item of items) checkOptions(item, `${place}: item`);
}

/** How long `result` waits, in ms. @throws InvalidLimitError */
export function checkedTimeout(options: ResultOptions): number {
  checkOptions(options, 'result');
  checkSignal(options.signal, 'result');
  const { timeoutMs = RESULT_TIMEOUT_MS } = options;
  if (!(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
    throw new InvalidLimitError(
      `result: timeoutMs ${shown(timeoutMs)} is not a number of at least 0`,
    );
  }
  return timeoutMs;
}
