// Keeps a share of the capacity of all instances for critical calls, by slots that they share. Framework-free.
import { InvalidLimitError, StoreUnavailableError } from '../core/errors';
import { shown } from '../core/limit';
import { type ConcurrencyLimit, type ConcurrencyOptions } from './concurrency-limit';
import type { ConcurrencyLimiter } from './concurrency-limiter';
import type { Criticality } from './criticality';
import type { Lease } from './held-lease';
import { APP_SCOPE, type PolicyRegistry } from './policy-registry';

/** What all instances together can take, and what of it is kept for critical calls. */
export interface FleetShedderOptions extends Omit<ConcurrencyOptions, 'mode'> {
  /** Calls that all instances together can have in flight; a whole number from 1 to 1_000_000. */
  max: number;
  /**
   * The share of `max` that only critical calls may use: more than 0, less than 1.
   * @default 0.2
   */
  reserve?: number;
  /** Names the slots: applications on one store that share a fleet share it. @default 'fleet' */
  name?: string;
}

/** The options of a fleet shedder. */
export const FLEET_KEYS = ['max', 'reserve', 'leaseMs', 'name', 'onStoreFailure', 'localShare'];
/** One set of slots for everybody. */
const EVERYBODY = 'all';
const MOST_SLOTS = 1_000_000;
/** Float noise that is not meant: 10 × 0.1 × 3 is more than 3. */
const NOISE = 1e-9;

/** Whether a call may go on; with a lease to give back. */
export interface FleetEntry {
  readonly allowed: boolean;
  readonly lease: Lease | undefined;
}

/**
 * Lets a call that is not critical go on only while all calls in flight, critical ones included, are fewer than
 * `max × (1 − reserve)`. Critical calls go on always and are counted, so they find the reserve free, whatever the
 * others do.
 */
export class FleetShedder {
  readonly #others: ConcurrencyLimit;
  readonly #critical: ConcurrencyLimit;

  /** @throws InvalidLimitError naming option and value */
  constructor(
    options: FleetShedderOptions,
    registry: PolicyRegistry,
    private readonly limiter: ConcurrencyLimiter,
    place: string,
  ) {
    const { reserve = 0.2, name = 'fleet', max, leaseMs, onStoreFailure, localShare } = options;
    const given = { name, leaseMs, onStoreFailure, localShare };
    registry.concurrency({ ...given, max }, APP_SCOPE, place);
    if (typeof reserve !== 'number' || !(reserve > 0 && reserve < 1)) {
      throw new InvalidLimitError(
        `${place}: reserve ${shown(reserve)} is not a number between 0 and 1, such as 0.2`,
      );
    }
    const forOthers = max - Math.ceil(max * reserve - NOISE);
    if (forOthers < 1) {
      throw new InvalidLimitError(
        `${place}: reserve ${reserve} of max ${max} leaves no call for others: raise max or lower reserve`,
      );
    }
    this.#others = registry.concurrency({ ...given, max: forOthers }, APP_SCOPE, place);
    this.#critical = registry.concurrency(
      { ...given, max: MOST_SLOTS, onStoreFailure: 'open' },
      APP_SCOPE,
      place,
    );
    limiter.checkSupported(place);
  }

  get name(): string {
    return this.#others.name;
  }

  /**
   * Counts a call, if it may go on.
   *
   * @param countsAnyway also when it may not: a shadow lets it go on
   * @param lost told if the call is no longer counted before it has ended, unless the limiter was closed
   */
  async enter(
    criticality: Criticality,
    countsAnyway: boolean,
    lost: (reason: Error) => void,
  ): Promise<FleetEntry> {
    if (criticality === 'critical') return this.#ask(this.#critical, lost);
    try {
      const entry = await this.#ask(this.#others, lost);
      if (entry.allowed || !countsAnyway) return entry;
    } catch (error) {
      // The store is out, and the shedder is closed without it.
      if (!StoreUnavailableError.is(error)) throw error;
      return { allowed: false, lease: undefined };
    }
    const { lease } = await this.#ask(this.#critical, lost);
    return { allowed: false, lease };
  }

  async #ask(limit: ConcurrencyLimit, lost: (reason: Error) => void): Promise<FleetEntry> {
    const { answer, lease } = await this.limiter.ask(limit, EVERYBODY, (reason) => {
      if (!this.limiter.isClosed) lost(reason);
    });
    return { allowed: answer.granted, lease };
  }
}
