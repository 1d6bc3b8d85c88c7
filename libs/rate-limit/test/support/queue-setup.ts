// How a test queue is set up, as plain data that can travel to another process.
import { bucketNamer } from '../../src/core/bucket-key';
import { parseLimit, type Limit } from '../../src/core/limit';
import type { QueueSurroundings } from '../../src/queue/open-queue';
import type { RateLimitQueueOptions } from '../../src/queue/queue-options';

export interface QueueSetup {
  readonly redis: string;
  readonly keyPrefix: string;
  readonly options: Omit<RateLimitQueueOptions, 'key'>;
  /** Paces by the `key` of the payload. */
  readonly keyed?: boolean;
  /** The numbers of the shared policy `vendor`. */
  readonly policy?: Limit;
  readonly timeoutMs?: number;
}

/** What `openQueue` takes. */
export function queueParts(
  { redis, keyPrefix, options, keyed, policy, timeoutMs = 5000 }: QueueSetup,
  onError: (error: unknown) => void,
): { options: RateLimitQueueOptions<never>; around: QueueSurroundings } {
  return {
    options: {
      ...options,
      ...(keyed && { key: ({ key }: { key: string }) => key }),
      ...(policy && { policy: 'vendor' }),
    } as RateLimitQueueOptions<never>,
    around: {
      keyPrefix,
      connection: redis,
      timeoutMs,
      onError,
      onAnswer: () => undefined,
      policy: policy && {
        limit: parseLimit(policy, 'policy vendor'),
        bucket: (key) => vendorBucket(keyPrefix, key),
      },
    },
  };
}

/** The bucket of a key that the shared policy and direct callers pay. */
export function vendorBucket(keyPrefix: string, key: string): string {
  return bucketNamer(keyPrefix).place('vendor', 'vendor').bucket(key);
}
