// A shared store in this process that a test may break, and charges for it.
import { parseLimit, type Limit } from '../../src/core/limit';
import { MemoryStore } from '../../src/store/memory/memory-store';
import type { BucketCharge, RateLimitStore } from '../../src/store/rate-limit-store';
import type { FailureMode, ResilientCharge } from '../../src/store/resilient-port';
import type { FakeClock } from '../../src/testing';

const LIMIT: Limit = { rate: 0.001, capacity: 10 };

export function charge(some: {
  bucket?: string;
  mode?: FailureMode;
  cost?: number;
  limit?: Limit;
  local?: Limit;
}): ResilientCharge {
  const { bucket = 'b', mode = 'local', cost = 1, limit = LIMIT, local = limit } = some;
  const parsed = parseLimit(limit, 'test');
  return {
    bucket,
    place: `place of ${bucket}`,
    limit: parsed,
    price: cost * 1000 * parsed.q,
    maxWaitUs: 0,
    failureMode: mode,
    localLimit: parseLimit(local, 'test'),
  };
}

export function tokens(credits: number, { limit }: ResilientCharge): number {
  return credits / (limit.q * 1000);
}

export class FakeShared implements RateLimitStore {
  readonly source = 'shared';
  readonly #buckets: MemoryStore;
  /** Throws, hangs, or gives its answers as they are. */
  state: 'up' | 'hanging' | Error = 'up';
  /** Only what writes fails: a replica, a full memory. */
  readable = false;
  calls: string[] = [];
  closed = 0;

  constructor(clock: FakeClock) {
    this.#buckets = new MemoryStore({ clock });
  }

  take(charges: readonly BucketCharge[]) {
    return this.#answer(`take ${charges.map(({ bucket }) => bucket).join()}`, () =>
      this.#buckets.take(charges),
    );
  }

  peek(charges: readonly BucketCharge[]) {
    if (this.readable) return this.#buckets.peek(charges);
    return this.#answer('peek', () => this.#buckets.peek(charges));
  }

  reset(buckets: readonly string[]) {
    return this.#answer('reset', () => this.#buckets.reset(buckets));
  }

  async close() {
    this.closed++;
  }

  #answer<T>(call: string, answer: () => T): T | Promise<T> {
    this.calls.push(call);
    if (this.state === 'up') return Promise.resolve(answer());
    if (this.state === 'hanging') return new Promise<T>(() => undefined);
    throw this.state;
  }
}

/** What a client says of a connection that is gone. */
export const GONE = new Error('Connection is closed.');
