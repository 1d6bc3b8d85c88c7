// Pure: many calls as one script call, and its reply as their answers. Twin of lua/take_many.lua.
import type { Level } from '../../core/algorithms/algorithm';
import type { ParsedLimit } from '../../core/limit';
import { takeAll } from '../bucket';
import { underLimit, underTheirLimits } from '../in-force';
import type { BucketCharge, Outcome } from '../rate-limit-store';
import { inForce } from './configuration-text';

/** Calls on one bucket, or on several that are charged together. */
interface Run {
  readonly which: readonly number[];
  /** The calls, by their place in the batch. */
  readonly calls: number[];
}

/** Calls that differ by their buckets alone. */
interface Shape {
  readonly charges: readonly BucketCharge[];
  readonly runs: Run[];
  /** Of calls with one bucket: the run of each bucket. */
  readonly byBucket: Map<number, Run>;
}

/** Calls that can be made together: a bucket that several of them charge has the same numbers in all. */
export class TakeBatch {
  readonly #calls: (readonly BucketCharge[])[] = [];
  readonly #shapes: Shape[] = [];
  readonly #places = new Map<string, number>();
  /** The first charge of each bucket. */
  readonly #buckets: BucketCharge[] = [];

  /** Distinct buckets. */
  get size(): number {
    return this.#buckets.length;
  }

  /** Adds a call; false when it has to be made apart from these. */
  add(charges: readonly BucketCharge[]): boolean {
    for (const { bucket, limit } of charges) {
      const place = this.#places.get(bucket);
      if (place !== undefined && !sameNumbers(this.#buckets[place].limit, limit)) return false;
    }
    const call = this.#calls.push(charges) - 1;
    const which = charges.map((charge) => this.#placeOf(charge));
    this.#run(this.#shape(charges), which).calls.push(call);
    return true;
  }

  get keys(): string[] {
    return keysOf(this.#buckets);
  }

  /** Of a single call: everything after the first two arguments of the script `take`. */
  get lone(): number[] {
    return this.#shapes[0].charges.flatMap(numbersOf);
  }

  /** Everything after the first two arguments of the script. */
  get args(): number[] {
    const args: number[] = [];
    for (const { charges, runs } of this.#shapes) {
      const first = consecutive(runs);
      args.push(charges.length, runs.length, first);
      for (const charge of charges) args.push(...numbersOf(charge));
      if (first > 0) continue;
      for (const { which, calls } of runs) {
        args.push(calls.length);
        for (const place of which) args.push(place + 1);
      }
    }
    return args;
  }

  /** What each call is answered, in the order in which they were added. */
  outcomes(reply: readonly unknown[]): Outcome[][] {
    const { levels, limits } = levelsIn(reply, this.#buckets.length);
    const answers: Outcome[][] = [];
    for (const { charges: shape, runs } of this.#shapes) {
      for (const { which, calls } of runs) {
        const configured = which.some((place) => limits[place] !== undefined);
        for (const call of calls) {
          const asked = this.#calls[call];
          // The numbers are those of the shape, whatever objects carry them.
          const charges = configured
            ? asked.map((charge, i) => underLimit(charge, limits[which[i]]))
            : shape;
          const taken = takeAll(
            charges,
            which.map((place) => levels[place]),
            0,
            Number(reply[0]),
          );
          if (taken.granted) which.forEach((place, i) => (levels[place] = taken.levels[i]));
          answers[call] = configured
            ? underTheirLimits(asked, charges, taken.outcomes)
            : taken.outcomes;
        }
      }
    }
    return answers;
  }

  #placeOf(charge: BucketCharge): number {
    const known = this.#places.get(charge.bucket);
    if (known !== undefined) return known;
    const place = this.#buckets.push(charge) - 1;
    this.#places.set(charge.bucket, place);
    return place;
  }

  #shape(charges: readonly BucketCharge[]): Shape {
    const known = this.#shapes.find((shape) => isOfShape(charges, shape.charges));
    if (known !== undefined) return known;
    const shape = { charges, runs: [], byBucket: new Map<number, Run>() };
    this.#shapes.push(shape);
    return shape;
  }

  #run({ runs, byBucket }: Shape, which: readonly number[]): Run {
    const known = which.length === 1 ? byBucket.get(which[0]) : undefined;
    if (known !== undefined) return known;
    const run: Run = { which, calls: [] };
    runs.push(run);
    if (which.length === 1) byBucket.set(which[0], run);
    return run;
  }
}

/** The buckets, and what may be configured for each: a bucket itself is never read as a configuration. */
export function keysOf(
  charges: readonly Pick<BucketCharge, 'bucket' | 'configuration'>[],
): string[] {
  const names = charges.map(({ bucket }) => bucket);
  return [...names, ...charges.map(({ bucket, configuration = bucket }) => configuration)];
}

/** What the scripts are told of one charge. */
export function numbersOf({ limit, price, maxWaitUs }: BucketCharge): number[] {
  return [limit.n, limit.q, limit.capacity, limit.fingerprint, price, maxWaitUs];
}

/**
 * The levels in a reply of the take scripts, in a time whose zero is the server's now, and the limits that are
 * configured for some. Replies are integers, but a client may be set to hand them over as text.
 */
export function levelsIn(
  reply: readonly unknown[],
  buckets: number,
): { levels: Level[]; limits: (ParsedLimit | undefined)[] } {
  const levels: Level[] = [];
  const limits: (ParsedLimit | undefined)[] = [];
  for (let i = 0; i < buckets; i++) levels.push({ credits: Number(reply[1 + i]), atUs: 0 });
  for (let at = 1 + buckets; at < reply.length; at += 2) {
    const which = Number(reply[at]);
    const i = Math.abs(which) - 1;
    if (which > buckets) {
      const of = which - buckets - 1;
      levels[of] = { ...levels[of], previous: Number(reply[at + 1]) };
    } else if (which > 0) {
      levels[i] = { ...levels[i], atUs: Number(reply[at + 1]) };
    } else {
      const { limit, blockedUs } = inForce(String(reply[at + 1]), Number(reply[0]));
      levels[i] = { ...levels[i], blockedUs };
      limits[i] = limit;
    }
  }
  return { levels, limits };
}

/** The number of the first bucket, counted from 1, if the runs charge one after another, once each; else 0. */
function consecutive(runs: readonly Run[]): number {
  let next = runs[0].which[0];
  for (const { which, calls } of runs) {
    if (calls.length > 1) return 0;
    for (const place of which) if (place !== next++) return 0;
  }
  return runs[0].which[0] + 1;
}

function isOfShape(charges: readonly BucketCharge[], shape: readonly BucketCharge[]): boolean {
  return (
    charges.length === shape.length &&
    charges.every(({ limit, price, maxWaitUs }, i) => {
      const other = shape[i];
      return (
        price === other.price && maxWaitUs === other.maxWaitUs && sameNumbers(limit, other.limit)
      );
    })
  );
}

function sameNumbers(one: ParsedLimit, other: ParsedLimit): boolean {
  return (
    one === other ||
    (one.n === other.n &&
      one.q === other.q &&
      one.capacity === other.capacity &&
      one.fingerprint === other.fingerprint)
  );
}
