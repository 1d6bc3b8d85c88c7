// A store of oracle buckets: the promises of the port, in exact fractions. Forgets only when told.
import type { BucketCharge, Peeked } from '../../src/store/rate-limit-store';
import { full, fullIn, levelAt, oracleLimit, take, type Held, type OracleLimit } from './oracle';
import { credits } from './oracle-history';
import { compare, ratio, times } from './ratio';

interface Kept {
  held: Held;
  limit: OracleLimit;
}

/** An outcome as text: exact, and readable when it differs. */
export type Line = string;

export function outcomeLine({
  granted,
  waitUs,
  credits: left,
  fullInUs,
}: Pick<Peeked, 'granted' | 'waitUs' | 'credits' | 'fullInUs'>): Line {
  return `granted ${granted}, wait ${BigInt(waitUs)}, credits ${BigInt(left)}, full in ${BigInt(fullInUs)}`;
}

export class OracleStore {
  readonly #kept = new Map<string, Kept>();

  take(charges: readonly BucketCharge[], nowUs: number): Line[] {
    const now = BigInt(nowUs);
    const asked = charges.map((charge) => this.#ask(charge, now));
    const all = asked.every(({ said }) => said.granted);
    return asked.map(({ charge, limit, level, said }) => {
      const after = all ? said.after : level;
      const kept = this.#kept.get(charge.bucket);
      if (all) this.#kept.set(charge.bucket, { held: after, limit });
      else if (kept !== undefined) {
        // A refusal changes nothing; but the bucket takes a clock that went far back for its own.
        if (level.at < kept.held.at) kept.held = level;
        kept.limit = limit;
      }
      return line(said, said.granted && !all ? level : after, charge, limit, now);
    });
  }

  peek(charges: readonly BucketCharge[], nowUs: number): Line[] {
    const now = BigInt(nowUs);
    return charges.map((charge) => {
      const { limit, level, said } = this.#ask(charge, now);
      const isFull = compare(level.tokens, limit.capacity) === 0;
      return `${line(said, said.after, charge, limit, now)}, held ${credits(level, charge.limit.q)}, known ${!isFull}`;
    });
  }

  /** Buckets that are full by the limit that they were last asked under. */
  fullBuckets(nowUs: number): string[] {
    const now = BigInt(nowUs);
    return [...this.#kept]
      .filter(([, { held, limit }]) => fullIn(levelAt(held, limit, now), limit, now) === 0n)
      .map(([bucket]) => bucket);
  }

  reset(buckets: readonly string[]): void {
    for (const bucket of buckets) this.#kept.delete(bucket);
  }

  #ask(charge: BucketCharge, now: bigint) {
    const { n, q, capacity } = charge.limit;
    const limit = oracleLimit(n, q, capacity);
    const level = levelAt(this.#kept.get(charge.bucket)?.held ?? full(limit, now), limit, now);
    const cost = times(ratio(charge.price), limit.unit);
    return { charge, limit, level, said: take(level, limit, cost, BigInt(charge.maxWaitUs), now) };
  }
}

function line(
  { granted, wait }: { granted: boolean; wait: bigint },
  after: Held,
  { limit: { q } }: BucketCharge,
  limit: OracleLimit,
  now: bigint,
): Line {
  return `granted ${granted}, wait ${wait}, credits ${credits(after, q)}, full in ${fullIn(after, limit, now)}`;
}
