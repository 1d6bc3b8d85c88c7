// Buckets in this process. Bounded, no timer per key: full buckets go as others arrive.
import { algorithmOf, type Level } from '../../core/algorithms/algorithm';
import { usFromMs } from '../../core/duration';
import { InvalidLimitError } from '../../core/errors';
import { type ParsedLimit, shown } from '../../core/limit';
import { systemClock, type Clock } from '../../core/clock';
import { type BucketState, levelOf, MOST_BUCKETS, peekOne, takeAll } from '../bucket';
import type {
  Adjustment,
  BucketCharge,
  Outcome,
  Peeked,
  RateLimitStore,
  UnusedGrant,
} from '../rate-limit-store';
import { adjustmentUnder, type InForce, underLimit, underTheirLimits } from '../in-force';
import { BucketMap } from './bucket-map';
import { IdleSweep } from './idle-sweep';
import { MemoryConfigurations } from './memory-configurations';
import { MemoryLeases } from './memory-leases';

/** Options of {@link MemoryStore}. */
export interface MemoryStoreOptions {
  /**
   * The most buckets kept at once, from 1 to 16_000_000; one takes about 300 bytes. At the bound, keys that are not kept
   * yet share one bucket a policy and scope: a flood of made-up keys cannot push a drained bucket out. The same bound
   * holds for configurations and blocks; at theirs, a further one is refused.
   * @default 1_000_000
   */
  readonly maxBuckets?: number;
  /** @default the process clock */
  readonly clock?: Clock;
}

interface KeptBucket extends BucketState {
  /** When it is full and may be forgotten, in µs. */
  fullAtUs: number;
}

/** Places that have a bucket for new keys of their own; scopes may be chosen at run time, so there is a bound. */
const MOST_OVERFLOWS = 1000;
/** How many kept buckets are looked at for every new one: more than one, so that the Map shrinks. */
const SWEEP_PER_INSERT = 4;
/** No bucket name starts so: names start with the key prefix and a brace. */
const OVERFLOW = 'overflow:';

/**
 * A store of one process; answers at once. Several instances of an application limit separately:
 * N of them let N times the limit through.
 */
export class MemoryStore implements RateLimitStore {
  readonly source = 'memory';
  readonly leases: MemoryLeases;
  readonly configurations: MemoryConfigurations;
  readonly #maxBuckets: number;
  readonly #clock: Clock;
  readonly #buckets = new BucketMap<KeptBucket>();
  readonly #idle = new IdleSweep();
  /** Buckets of new keys at the bound. */
  readonly #overflows = new Set<string>();

  /** @throws InvalidLimitError */
  constructor({ maxBuckets = 1_000_000, clock = systemClock }: MemoryStoreOptions = {}) {
    if (!Number.isSafeInteger(maxBuckets) || maxBuckets < 1 || maxBuckets > MOST_BUCKETS) {
      throw new InvalidLimitError(
        `MemoryStore: maxBuckets ${shown(maxBuckets)} is not a whole number from 1 to ${MOST_BUCKETS}`,
      );
    }
    this.#maxBuckets = maxBuckets;
    this.#clock = clock;
    this.leases = new MemoryLeases(clock);
    this.configurations = new MemoryConfigurations(clock, maxBuckets);
  }

  /** Buckets kept now, full ones that were not swept yet included. */
  get size(): number {
    return this.#buckets.size;
  }

  take(asked: readonly BucketCharge[]): Outcome[] {
    const nowUs = usFromMs(this.#clock.nowMs());
    const names = this.#namesOf(asked, nowUs);
    const inForce = asked.map((charge) => this.#inForce(charge, nowUs));
    const charges = asked.map((charge, i) => underLimit(charge, inForce[i]?.limit));
    const levels = charges.map((charge, i) => this.#level(names[i], charge, nowUs, inForce[i]));
    const { outcomes: answers, granted: charged, levels: after } = takeAll(charges, levels, nowUs);
    charges.forEach(({ limit }, i) => {
      const fullAtUs = nowUs + answers[i].fullInUs;
      const kept = this.#buckets.get(names[i]);
      const { credits, atUs, previous } = after[i];
      // A clock that restarted after a large step back has to be kept, or it restarts at every call.
      const restarted = kept?.limit.algorithm === limit.algorithm && atUs < kept.level.atUs;
      if (charged || restarted) {
        this.#keep(names[i], { level: { credits, atUs, previous }, limit, fullAtUs }, nowUs);
      } else if (kept !== undefined && fullAtUs > kept.fullAtUs) {
        // The limit became slower: the bucket is not full when it would have been.
        kept.fullAtUs = fullAtUs;
      }
    });
    return underTheirLimits(asked, charges, answers);
  }

  peek(asked: readonly BucketCharge[]): Peeked[] {
    const nowUs = usFromMs(this.#clock.nowMs());
    const names = this.#namesOf(asked, nowUs);
    const inForce = asked.map((charge) => this.#inForce(charge, nowUs));
    const charges = asked.map((charge, i) => underLimit(charge, inForce[i]?.limit));
    const peeked = charges.map((charge, i) =>
      peekOne(charge, this.#level(names[i], charge, nowUs, inForce[i]), nowUs),
    );
    return underTheirLimits(asked, charges, peeked);
  }

  /** Lowers a bucket to at most `credits`; never raises it. Does nothing where there is no room for it. */
  lower(charge: BucketCharge, credits: number): void {
    const { bucket, limit } = charge;
    const nowUs = usFromMs(this.#clock.nowMs());
    const level = levelOf(this.#buckets.get(bucket), limit, nowUs);
    const over = algorithmOf(limit).available(level, limit, nowUs) - credits;
    if (over <= 0 || this.#nameOf(charge, nowUs) !== bucket) return;
    this.#keepLevel(bucket, { ...level, credits: level.credits - over }, limit, nowUs);
  }

  giveBack(grants: readonly UnusedGrant[]): void {
    const nowUs = usFromMs(this.#clock.nowMs());
    for (const given of grants) {
      const grant = underLimit(given, this.#inForce(given, nowUs)?.limit);
      const { limit, price, startsAtUs } = grant;
      const name = this.#nameOf(grant, nowUs);
      const kept = this.#buckets.get(name);
      // Not kept is full: nothing is missing.
      if (kept === undefined) continue;
      const level = levelOf(kept, limit, nowUs);
      const credits = algorithmOf(limit).giveBack(level, limit, price, startsAtUs);
      this.#keepLevel(name, { ...level, credits }, limit, nowUs);
    }
  }

  adjust(adjustments: readonly Adjustment[]): void {
    const nowUs = usFromMs(this.#clock.nowMs());
    for (const asked of adjustments) {
      const adjustment = adjustmentUnder(asked, this.#inForce(asked, nowUs)?.limit);
      const { limit, credits: by } = adjustment;
      const name = this.#nameOf(adjustment, nowUs);
      const level = levelOf(this.#buckets.get(name), limit, nowUs);
      const credits = algorithmOf(limit).adjust(level, limit, by);
      this.#keepLevel(name, { ...level, credits }, limit, nowUs);
    }
  }

  reset(buckets: readonly string[]): void {
    for (const bucket of buckets) this.#forget(bucket);
  }

  /** Walks on over `count` buckets and drops those that are full. True: the walk came to its end. @internal */
  sweep(count: number, nowUs = usFromMs(this.#clock.nowMs())): boolean {
    for (let i = 0; i < count; i++) {
      const next = this.#buckets.next();
      if (next === undefined) return true;
      const [name, { fullAtUs }] = next;
      if (fullAtUs <= nowUs) this.#forget(name);
    }
    return false;
  }

  /** Ends what goes on without calls. What is kept stays. */
  close(): void {
    this.#idle.stop();
  }

  #inForce(
    { configuration }: Pick<BucketCharge, 'configuration'>,
    nowUs: number,
  ): InForce | undefined {
    return configuration === undefined
      ? undefined
      : this.configurations.inForce(configuration, nowUs);
  }

  #level(name: string, charge: BucketCharge, nowUs: number, inForce: InForce | undefined): Level {
    const level = levelOf(this.#buckets.get(name), charge.limit, nowUs);
    return inForce === undefined ? level : { ...level, blockedUs: inForce.blockedUs };
  }

  /** Where each charge of a call is booked; no two at one place. */
  #namesOf(charges: readonly BucketCharge[], nowUs: number): string[] {
    if (charges.length === 1) return [this.#nameOf(charges[0], nowUs)];
    const names = new Set<string>();
    for (const charge of charges) {
      let name = this.#nameOf(charge, nowUs);
      // Two new keys of one place in one call, and no room: the second gets an overflow of its own.
      while (names.has(name)) name += '+';
      names.add(name);
    }
    return [...names];
  }

  /** Where a charge is booked: its own bucket while there is room, else the one of its place. */
  #nameOf(
    { bucket, place, limit }: Pick<BucketCharge, 'bucket' | 'place' | 'limit'>,
    nowUs: number,
  ): string {
    if (this.#buckets.size < this.#maxBuckets || this.#buckets.has(bucket)) return bucket;
    this.sweep(SWEEP_PER_INSERT, nowUs);
    if (this.#buckets.size < this.#maxBuckets) return bucket;
    const overflow = OVERFLOW + place;
    if (this.#overflows.size < MOST_OVERFLOWS || this.#overflows.has(overflow)) return overflow;
    // No place's name: in one there is a colon before any space.
    return `${OVERFLOW}all ${limit.algorithm}`;
  }

  #keepLevel(name: string, level: Level, limit: ParsedLimit, nowUs: number): void {
    const fullInUs = algorithmOf(limit).timeToFull(level, limit, nowUs);
    if (fullInUs <= 0) this.#forget(name);
    else this.#keep(name, { level, limit, fullAtUs: nowUs + fullInUs }, nowUs);
  }

  #keep(name: string, bucket: KeptBucket, nowUs: number): void {
    const isNew = !this.#buckets.has(name);
    // Full buckets go as others arrive: forgetting them changes nothing.
    if (isNew) this.sweep(SWEEP_PER_INSERT, nowUs);
    this.#buckets.set(name, bucket);
    if (!isNew) return;
    if (name.startsWith(OVERFLOW)) this.#overflows.add(name);
    this.#idle.watch(this);
  }

  #forget(name: string): void {
    this.#buckets.delete(name);
    if (this.#overflows.size > 0) this.#overflows.delete(name);
  }
}
