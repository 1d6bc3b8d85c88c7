// Finds the line of a payload, a key, or a bucket of the module.
import { keyToken } from '../../core/bucket-key';
import { InvalidLimitError, MissingKeyError } from '../../core/errors';
import { shown, type ParsedLimit } from '../../core/limit';
import { bucketNumbers, mostGranted, type QueueLimits } from '../../queue/lane';
import type { MemoryStore } from '../../store/memory/memory-store';
import { InProcessLane } from './in-process-lane';
import { PacedBucket } from './paced-bucket';

/** The key of jobs in a queue without `key`. */
const ONE_KEY = 'all';

/** What lines are found with. */
export interface InProcessLanesOptions {
  readonly queue: string;
  readonly startToleranceMs: number;
  readonly store: MemoryStore;
  readonly key: ((data: never) => string) | undefined;
  /** Left out when only `deferTo` submits. */
  readonly limits: QueueLimits | undefined;
  /** The bucket of a key that direct callers use as well; left out when the queue has its own. */
  readonly sharedBucket: ((key: string) => string) | undefined;
}

/** The lines of a queue. None is forgotten: a test is short. */
export class InProcessLanes {
  readonly #lanes = new Map<string, InProcessLane>();

  constructor(private readonly options: InProcessLanesOptions) {}

  /** @param key instead of the queue's `key` of the payload. @throws MissingKeyError, InvalidLimitError */
  ofPayload(data: unknown, key?: string): InProcessLane {
    return this.ofKey(key ?? this.options.key?.(data as never) ?? this.#missing(data));
  }

  /** @throws MissingKeyError, InvalidLimitError when the queue has no numbers of its own */
  ofKey(key: string): InProcessLane {
    const { queue, limits, sharedBucket } = this.options;
    if (typeof key !== 'string') {
      throw new MissingKeyError(`queue ${queue}: key ${shown(key)} is not a string`);
    }
    if (limits === undefined) {
      throw new InvalidLimitError(
        `queue ${queue} has neither rate nor policy, so only deferTo can submit to it: give one`,
      );
    }
    return this.#lane(`key:${keyToken(key)}`, limits, sharedBucket?.(key));
  }

  /** The line of jobs that pay a bucket of the module, all of it. */
  ofBucket(bucket: string, limit: ParsedLimit): InProcessLane {
    return this.#lane(`bucket:${bucket}`, { limit, share: limit }, bucket);
  }

  get all(): InProcessLane[] {
    return [...this.#lanes.values()];
  }

  /** Jobs that wait their turn. */
  get waiting(): number {
    let sum = 0;
    for (const { waiting } of this.#lanes.values()) sum += waiting.length;
    return sum;
  }

  #lane(token: string, { limit, share }: QueueLimits, shared: string | undefined): InProcessLane {
    const known = this.#lanes.get(token);
    if (known !== undefined) return known;
    const { queue, store, startToleranceMs } = this.options;
    const own = `in-process:{queue:${queue}}:${token}`;
    const buckets = {
      bucket: new PacedBucket(store, shared ?? own, limit),
      share: share && new PacedBucket(store, own, share),
    };
    const numbers = { bucket: bucketNumbers(limit), share: share && bucketNumbers(share) };
    const lane = new InProcessLane(token, limit, buckets, mostGranted(numbers, startToleranceMs));
    this.#lanes.set(token, lane);
    return lane;
  }

  #missing(data: unknown): string {
    const { queue, key } = this.options;
    if (key === undefined) return ONE_KEY;
    throw new MissingKeyError(`queue ${queue}: its key of the payload ${shown(data)} is missing`);
  }
}
