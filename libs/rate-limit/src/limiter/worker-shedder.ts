// Sheds the calls of this process by its own load. Asks nobody outside the process.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { checkWhole } from '../core/whole-number';
import { type Criticality, shedShare } from './criticality';
import { LoadLevel, type LoadRange, type LoadReading } from './load-level';

/** When this process sheds. */
export interface WorkerShedderOptions {
  /**
   * The average lateness of the event loop, in ms, from which and up to which shedding grows. `false`: not watched.
   * @default { from: 50, full: 250 }
   */
  eventLoopDelayMs?: LoadRange | false;
  /** The same for the requests that this process has in flight. @default not watched */
  inFlight?: LoadRange;
  /** How long full pressure takes to shed all that may be shed; a whole number of ms from 1 to 600_000. @default 2000 */
  riseMs?: number;
  /** How long all of it takes to come back; a whole number of ms from 1 to 3_600_000. @default 30_000 */
  fallMs?: number;
  /** The least time between two readings; a whole number of ms from 10 to 60_000. @default 100 */
  sampleMs?: number;
}

/** The options of a worker shedder. */
export const WORKER_KEYS = ['eventLoopDelayMs', 'inFlight', 'riseMs', 'fallMs', 'sampleMs'];
const DEFAULT_DELAY = { from: 50, full: 250 };

/** Sheds the least critical calls first, a growing share of them, while this process is pressed. */
export class WorkerShedder {
  readonly #level: LoadLevel;

  /** @throws InvalidLimitError naming option and value */
  constructor(
    options: WorkerShedderOptions,
    private readonly read: () => LoadReading,
    place: string,
    nowMs: number,
  ) {
    const { eventLoopDelayMs = DEFAULT_DELAY, inFlight } = options;
    const { riseMs = 2000, fallMs = 30_000, sampleMs = 100 } = options;
    checkWhole(riseMs, 'riseMs', 1, 600_000, place);
    checkWhole(fallMs, 'fallMs', 1, 3_600_000, place);
    checkWhole(sampleMs, 'sampleMs', 10, 60_000, place);
    if (eventLoopDelayMs !== false) checkRange(eventLoopDelayMs, 'eventLoopDelayMs', place);
    if (inFlight !== undefined) checkRange(inFlight, 'inFlight', place);
    if (eventLoopDelayMs === false && inFlight === undefined) {
      throw new InvalidLimitError(
        `${place}: eventLoopDelayMs is false and inFlight is left out, so nothing is watched: give one of them, or worker: false`,
      );
    }
    const delay = eventLoopDelayMs === false ? undefined : eventLoopDelayMs;
    this.#level = new LoadLevel(
      { eventLoopDelayMs: delay, inFlight, riseMs, fallMs, sampleMs },
      nowMs,
    );
  }

  /**
   * Whether a call is shed now.
   *
   * @param draw from 0 up to 1, drawn evenly: at one draw and one level nobody is shed before who matters less
   */
  sheds(criticality: Criticality, draw: number, nowMs: number): boolean {
    return draw < shedShare(criticality, this.levelAt(nowMs));
  }

  /** The level of load, from 0 to 1. */
  levelAt(nowMs: number): number {
    return this.#level.at(nowMs, this.read);
  }
}

function checkRange(range: unknown, option: string, place: string): void {
  const { from, full } = (range ?? {}) as Partial<LoadRange>;
  if (
    typeof from === 'number' &&
    typeof full === 'number' &&
    from >= 0 &&
    full > from &&
    full < Infinity
  ) {
    return;
  }
  const value =
    from === undefined && full === undefined
      ? shown(range)
      : `{ from: ${shown(from)}, full: ${shown(full)} }`;
  throw new InvalidLimitError(
    `${place}: ${option} ${value} is no range: give { from, full } with 0 <= from < full`,
  );
}
