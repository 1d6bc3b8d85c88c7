// Finds the lane of a payload, a key, a job or a kept record.
import type { Job } from 'bullmq';
import { InvalidLimitError, MissingKeyError } from '../core/errors';
import { shown } from '../core/limit';
import { pacedOptions } from './job-lane';
import { mostGranted, type Lane, type LaneNumbers, type LaneRecord } from './lane';
import type { QueueNames } from './queue-names';

/** Lanes kept ready; past that the oldest are made anew. */
const MOST_LANES = 10_000;
/** The key of jobs in a queue without `key`. */
const ONE_KEY = 'all';

/** What lanes are found with. */
export interface LanesOptions {
  readonly queue: string;
  readonly names: QueueNames;
  readonly startToleranceMs: number;
  readonly key: ((data: never) => string) | undefined;
  /** A key as part of a name in Redis; one-to-one. */
  readonly tokenOf: (key: string) => string;
  /** The queue's own numbers; left out when only `deferTo` submits. */
  readonly numbers: LaneNumbers | undefined;
  /** The bucket of a key that direct callers use as well; left out when the queue has its own. */
  readonly sharedBucket: ((key: string) => string) | undefined;
}

/** The lanes of a queue. */
export class Lanes {
  readonly #options: LanesOptions;
  readonly #kept = new Map<string, Lane>();

  constructor(options: LanesOptions) {
    this.#options = options;
  }

  /** @param key instead of the queue's `key` of the payload. @throws MissingKeyError */
  ofPayload(data: unknown, key?: string): Lane {
    return this.ofKey(key ?? this.#keyOf(data) ?? this.#missing(data));
  }

  /** @throws MissingKeyError, InvalidLimitError when the queue has no numbers of its own */
  ofKey(key: string): Lane {
    const { queue, numbers, sharedBucket, tokenOf } = this.#options;
    if (typeof key !== 'string') {
      throw new MissingKeyError(`queue ${queue}: key ${shown(key)} is not a string`);
    }
    if (numbers === undefined) {
      throw new InvalidLimitError(
        `queue ${queue} has neither rate nor policy, so only deferTo can submit to it: give one`,
      );
    }
    return this.fromRecord(
      tokenOf(key),
      JSON.stringify(sharedBucket === undefined ? {} : { bucket: sharedBucket(key) }),
    );
  }

  /** The lane of a job that was picked up: of its options, else of its payload. */
  ofJob(job: Job): Lane {
    const paced = pacedOptions(job);
    return paced === undefined
      ? this.ofPayload(job.data)
      : this.fromRecord(paced.lane, paced.record);
  }

  /** The lane of a token. @throws InvalidLimitError when nobody has numbers for it */
  fromRecord(token: string, record: string): Lane {
    const known = this.#kept.get(token);
    if (known?.record === record) return known;
    const { queue, names, startToleranceMs } = this.#options;
    const { bucket, numbers: kept } = JSON.parse(record) as LaneRecord;
    const numbers = kept ?? this.#options.numbers;
    if (numbers === undefined) {
      throw new InvalidLimitError(`queue ${queue}: this process has no numbers for lane ${token}`);
    }
    const lane: Lane = {
      token,
      keys: names.laneKeys(token, bucket),
      bucket: numbers.bucket,
      share: numbers.share,
      mostGranted: mostGranted({ bucket: numbers.bucket, share: numbers.share }, startToleranceMs),
      record,
    };
    this.#kept.delete(token);
    this.#kept.set(token, lane);
    if (this.#kept.size > MOST_LANES) this.#kept.delete(this.#kept.keys().next().value as string);
    return lane;
  }

  #keyOf(data: unknown): string | undefined {
    const { queue, key } = this.#options;
    try {
      return key?.(data as never);
    } catch (error) {
      throw new MissingKeyError(
        `queue ${queue}: its key of the payload ${shown(data)} failed: ${String(error)}`,
      );
    }
  }

  #missing(data: unknown): string {
    const { queue, key } = this.#options;
    if (key === undefined) return ONE_KEY;
    throw new MissingKeyError(`queue ${queue}: its key of the payload ${shown(data)} is missing`);
  }
}
