// The words of load shedding's options, and their checks.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { checkWhole } from '../core/whole-number';
import type { Criticality } from '../limiter/criticality';
import { FLEET_KEYS, type FleetShedderOptions } from '../limiter/fleet-shedder';
import type { LoadReading } from '../limiter/load-level';
import { checkBehaviour } from '../limiter/policy';
import { WORKER_KEYS, type WorkerShedderOptions } from '../limiter/worker-shedder';
import { checkFunction, checkKeys } from './limit-options';
import type { OfCall } from './rate-limit.options';

/** Who sheds what, and what the shed are told. */
export interface LoadSheddingOptions {
  /** Keeps a share of all instances' capacity for critical calls. Two calls of the store a request. @default none */
  fleet?: FleetShedderOptions;
  /** Sheds while this process is pressed. `false`: never. @default {} */
  worker?: WorkerShedderOptions | false;
  /**
   * How much a call matters, before what `@Criticality` says; `undefined`: as that says. Asked before authentication.
   * What throws or is no such word counts as undefined, and is logged.
   */
  criticalityOf?: OfCall<Criticality | undefined>;
  /**
   * `shadow`: decide and tell, never shed.
   * @default 'enforce'
   */
  mode?: 'enforce' | 'shadow';
  /**
   * After which time, in ms, those that were shed are asked to come again; a whole number from 0 to 3_600_000, sent as
   * whole seconds, rounded up, at least 1.
   * @default 2000
   */
  retryAfterMs?: number;
  /**
   * By up to which part of it more: 0 = all come at once again, 1 = spread evenly over as long again. From 0 to 10.
   * @default 1
   */
  jitter?: number;
  /** Draws from 0 up to 1: who is shed, and the jitter. For tests. @default the process' own */
  random?: () => number;
  /** Reads the load of this process. For tests, and for other signals. @default its event loop and requests in flight */
  load?: () => LoadReading;
}

const PLACE = 'LoadSheddingModule';
const KNOWN_KEYS = [
  'fleet',
  'worker',
  'criticalityOf',
  'mode',
  'retryAfterMs',
  'jitter',
  'random',
  'load',
];
const MOST_RETRY_MS = 3_600_000;
const MOST_JITTER = 10;

/** @throws InvalidLimitError naming the option and the value; numbers of a shedder are checked by itself */
export function checkedSheddingOptions(options: LoadSheddingOptions): LoadSheddingOptions {
  checkKeys(options, KNOWN_KEYS, PLACE);
  const { fleet, worker, criticalityOf, mode, retryAfterMs, jitter, random, load } = options;
  if (fleet !== undefined) checkKeys(fleet, FLEET_KEYS, `${PLACE}: fleet`);
  if (worker !== undefined && worker !== false) checkKeys(worker, WORKER_KEYS, `${PLACE}: worker`);
  if (fleet === undefined && worker === false) {
    throw new InvalidLimitError(`${PLACE}: worker is false and there is no fleet: nothing is shed`);
  }
  checkBehaviour({ mode }, PLACE);
  checkFunction(criticalityOf, 'criticalityOf', PLACE);
  checkFunction(random, 'random', PLACE);
  checkFunction(load, 'load', PLACE);
  if (retryAfterMs !== undefined) checkWhole(retryAfterMs, 'retryAfterMs', 0, MOST_RETRY_MS, PLACE);
  if (
    jitter !== undefined &&
    !(typeof jitter === 'number' && jitter >= 0 && jitter <= MOST_JITTER)
  ) {
    throw new InvalidLimitError(
      `${PLACE}: jitter ${shown(jitter)} is not a number from 0 to ${MOST_JITTER}`,
    );
  }
  return options;
}
