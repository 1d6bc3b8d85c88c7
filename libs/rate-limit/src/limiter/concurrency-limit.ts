// A concurrency limit: how many calls of one key may be in flight at once, over all instances. Framework-free.
import type { BucketNamer, BucketPlace } from '../core/bucket-key';
import { InvalidLimitError } from '../core/errors';
import { checkName, shown } from '../core/limit';
import { checkWhole } from '../core/whole-number';
import type { FailureMode } from '../store/resilient-port';
import { checkBehaviour, failureModeOf, type PolicyBehaviour } from './policy';

/** The name of a concurrency limit that was given none. */
export const DEFAULT_CONCURRENCY_NAME = 'concurrency';
/**
 * When it is worth trying again after a refusal. Nobody knows when a call in flight will end, so this is no promise:
 * short enough for calls that take moments, long enough not to invite a storm.
 */
export const CONCURRENCY_RETRY_MS = 1000;

const MOST_SLOTS = 1_000_000;
const DEFAULT_LEASE_MS = 10_000;
const LEAST_LEASE_MS = 100;
const MOST_LEASE_MS = 3_600_000;
/** No policy name starts so: slots and buckets never have one name in the store. */
const MARK = '+';

/** The numbers of a concurrency limit. */
export interface ConcurrencyOptions extends PolicyBehaviour {
  /** The most calls in flight at once, over all instances; a whole number from 1 to 1_000_000. */
  max: number;
  /**
   * After this many ms without a word of its holder a slot is free again: how long the slot of a process that died is
   * missing. While the holder lives it says a word each third of this. A whole number from 100 to 3_600_000.
   * @default 10_000
   */
  leaseMs?: number;
  /**
   * Same name, scope and key, same slots; `[a-z][a-z0-9_-]*`, at most 64 characters.
   * @default 'concurrency'
   */
  name?: string;
}

/** A concurrency limit, parsed and placed. */
export interface ConcurrencyLimit {
  readonly name: string;
  readonly max: number;
  readonly leaseMs: number;
  readonly failureMode: FailureMode;
  /** The most that this process may hold when the store is out. */
  readonly localMax: number;
  readonly shadow: boolean;
  readonly place: BucketPlace;
}

/**
 * Parses and checks a concurrency limit.
 *
 * @param place where it stands, for messages
 * @throws InvalidLimitError naming the place, the option and the value
 */
export function parseConcurrency(
  options: ConcurrencyOptions,
  scope: string,
  defaults: PolicyBehaviour,
  namer: BucketNamer,
  place: string,
): ConcurrencyLimit {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidLimitError(
      `${place}: ${shown(options)} is not a concurrency limit: give { max }`,
    );
  }
  const { max, leaseMs = DEFAULT_LEASE_MS, name = DEFAULT_CONCURRENCY_NAME } = options;
  checkWhole(max, 'max', 1, MOST_SLOTS, place);
  checkWhole(leaseMs, 'leaseMs', LEAST_LEASE_MS, MOST_LEASE_MS, place);
  checkName(name, place);
  checkBehaviour(options, place);
  const share = options.localShare ?? defaults.localShare ?? 1;
  return {
    name,
    max,
    leaseMs,
    localMax: Math.max(1, Math.floor(max * share)),
    ...failureModeOf(options, defaults),
    place: namer.place(MARK + name, scope),
  };
}
