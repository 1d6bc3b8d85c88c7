// Pure: the answer to a submission, and the error that a refusal is.
import { type RateLimitError, WaitTooLongError } from '../core/errors';
import { IdempotencyConflictError, QueueFullError } from './queue-errors';
import type { QueueBounds } from './queue-face';

/** The answer to a submission. Times are the server's. */
export type Submitted =
  | {
      readonly kind: 'accepted';
      readonly id: string;
      readonly nowMs: number;
      readonly waitUs: number;
      readonly position: number;
      readonly atOnce: boolean;
      readonly known: boolean;
      /** It was known and has not started. */
      readonly unstarted: boolean;
    }
  | { readonly kind: 'lane-full' | 'queue-full' | 'too-late'; readonly waitUs: number }
  | { readonly kind: 'conflict' };

/** The error for a refused submission. */
export function refusal(
  queue: string,
  answer: Exclude<Submitted, { kind: 'accepted' }>,
  maxWaitMs: number,
  { maxQueue, maxQueueTotal }: QueueBounds,
): RateLimitError {
  if (answer.kind === 'conflict') {
    return new IdempotencyConflictError(
      `queue ${queue}: this idempotencyKey was used with another payload`,
    );
  }
  const waitMs = Math.ceil(answer.waitUs / 1000);
  switch (answer.kind) {
    case 'too-late':
      return new WaitTooLongError(
        `queue ${queue}: the job would start in ${waitMs} ms, later than its maxWaitMs ${maxWaitMs}`,
        waitMs,
      );
    case 'lane-full':
      return new QueueFullError(
        `queue ${queue}: ${maxQueue} jobs of this key wait already (maxQueue)`,
        'key',
        waitMs,
      );
    case 'queue-full':
      return new QueueFullError(
        `queue ${queue}: ${maxQueueTotal} jobs wait already (maxQueueTotal)`,
        'queue',
        waitMs,
      );
  }
}
