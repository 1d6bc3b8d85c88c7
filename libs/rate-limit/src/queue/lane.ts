// Pure: what paces a job: the line it waits in, the bucket it pays, and the share of it that queued work may use.
import type { ParsedLimit } from '../core/limit';

/** The numbers of a bucket as the scripts take them. */
export type BucketNumbers = readonly [n: number, q: number, capacity: number, fingerprint: number];

/** The numbers that pace a lane. */
export interface LaneNumbers {
  readonly bucket: BucketNumbers;
  /** For a bucket that direct callers use as well: what queued work may use of it. */
  readonly share: BucketNumbers | undefined;
}

/** What paces the lanes of a queue. */
export interface QueueLimits {
  readonly limit: ParsedLimit;
  /** Of a limit that direct callers use as well: what queued work may use of it. */
  readonly share: ParsedLimit | undefined;
}

/** A line of jobs that pay one bucket. */
export interface Lane extends LaneNumbers {
  /** Names the lane within its queue. */
  readonly token: string;
  /** The KEYS that every script about this lane starts with. */
  readonly keys: readonly string[];
  /** Jobs that may be paid and not yet started; see {@link mostGranted}. */
  readonly mostGranted: number;
  /** JSON of a {@link LaneRecord}: how another process finds this lane. */
  readonly record: string;
}

/** What is kept of a lane in Redis and in its jobs. */
export interface LaneRecord {
  /** A bucket that direct callers use as well; left out, the lane has one of its own. */
  readonly bucket?: string;
  /** Left out where the queue's own numbers hold: every process uses those it was started with. */
  readonly numbers?: { readonly bucket: BucketNumbers; readonly share?: BucketNumbers };
}

/** A limit as the scripts take it. */
export function bucketNumbers({ n, q, capacity, fingerprint }: ParsedLimit): BucketNumbers {
  return [n, q, capacity, fingerprint];
}

/**
 * How many jobs of a lane may be paid and not yet started. What is paid starts a moment later, so so
 * many starts may come on top of the envelope: half of what `startToleranceMs` is worth, the other
 * half is left to the machine; at least one, or nothing would ever start.
 */
export function mostGranted({ bucket, share }: LaneNumbers, startToleranceMs: number): number {
  const [n, q] = share ?? bucket;
  return Math.max(1, Math.floor(((n / q) * startToleranceMs) / 2));
}
