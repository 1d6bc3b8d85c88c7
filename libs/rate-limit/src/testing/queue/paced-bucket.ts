// A bucket that paces a line, in the memory store. Does what queue/lua/lib/paced_bucket.lua does; costs in thousandths.
import { take } from '../../core/algorithms/token-bucket';
import type { ParsedLimit } from '../../core/limit';
import type { MemoryStore } from '../../store/memory/memory-store';
import type { BucketCharge } from '../../store/rate-limit-store';

/**
 * A granted job holds its tokens until it starts: they are taken from the level at once, and count against the capacity
 * until then. Or a line whose jobs waited for a worker would find two bursts.
 */
export class PacedBucket {
  /** Thousandths that granted jobs hold. */
  #held = 0;

  constructor(
    private readonly store: MemoryStore,
    private readonly name: string,
    private readonly limit: ParsedLimit,
  ) {}

  /**
   * µs until `cost` is there beyond `ahead`, which is promised to others. A cost above the capacity (of a share) needs a
   * full bucket, and leaves a debt.
   */
  waitUs(cost: number, ahead = 0): number {
    const { n, q, capacity } = this.limit;
    const [, waitUs] = take(this.#level - ahead * q, 0, n, Math.min(cost * q, capacity), 0, 0);
    return waitUs;
  }

  /** Takes the cost, into debt if need be. */
  charge(cost: number): void {
    const { capacity, q } = this.limit;
    this.store.lower(this.#charge(1, capacity), this.#level);
    // The store takes no more than a capacity at once.
    for (let rest = cost * q; rest > 0; rest -= capacity) {
      this.store.take([
        { ...this.#charge(Math.min(rest, capacity), capacity), maxWaitUs: Number.MAX_SAFE_INTEGER },
      ]);
    }
  }

  /** A job was granted: what it was charged is not to be refilled. */
  hold(cost: number): void {
    this.#held += cost;
  }

  /** A granted job started, or gave up its grant: the level stays, and may rise again. */
  free(cost: number): void {
    const level = this.#level;
    this.#held -= cost;
    this.store.lower(this.#charge(1), level);
  }

  /** Gives back what nobody used. */
  giveBack(cost: number, startsAtUs: number): void {
    this.store.giveBack([{ ...this.#charge(cost * this.limit.q), startsAtUs }]);
  }

  /** Credits that are there now. */
  get #level(): number {
    return this.store.peek([this.#charge(1)])[0].held;
  }

  #charge(price: number, capacity = this.limit.capacity - this.#held * this.limit.q): BucketCharge {
    const limit = { ...this.limit, capacity };
    return { bucket: this.name, place: this.name, limit, price, maxWaitUs: 0 };
  }
}
