// The words of a queue's face that need no BullMQ: what paces it, what is submitted, what is told. Types only.
import type { Limit } from '../core/limit';
import type { JobEnding } from './ending';

/** What paces and bounds a queue. `Data` is the payload of its jobs. */
export interface PacedQueueOptions<Data = unknown> extends Partial<Limit> {
  /** BullMQ's name of the queue; any text without a colon. */
  name: string;
  /**
   * Pays the bucket of this policy of the module instead of numbers of its own: the bucket that the
   * guard and the service use.
   */
  policy?: string;
  /**
   * The part of a shared bucket's rate that queued work may use: more than 0, at most 1. Direct
   * callers keep the rest, and the queue gets this much under any direct load.
   * @default 0.5 with `policy`, else 1
   */
  share?: number;
  /**
   * Whose turn: jobs of one key wait for each other, those of different keys do not.
   * @default one key for all
   */
  key?: (data: Data) => string;
  /** The most jobs of one key that wait. @default 10_000 */
  maxQueue?: number;
  /** The most jobs that wait, over all keys. @default 1_000_000 */
  maxQueueTotal?: number;
  /**
   * A job that could not start within this many ms is refused at submit, and never starts later.
   * @default 3_600_000
   */
  maxWaitMs?: number;
  /**
   * How far observed starts may run ahead of the envelope, as a time: max(1, rate × this) jobs.
   * @default 25
   */
  startToleranceMs?: number;
  /** How long the result of an ended job is kept, in ms. @default 3_600_000 */
  resultTtlMs?: number;
  /** Set in processes that only submit: no processor is expected here. @default false */
  submitOnly?: boolean;
}

/** The numbers of a queue's options, after defaults. */
export interface QueueBounds {
  readonly maxQueue: number;
  readonly maxQueueTotal: number;
  readonly maxWaitMs: number;
  readonly startToleranceMs: number;
  readonly resultTtlMs: number;
}

/** What a submission asks for. */
export interface SubmitTerms {
  /** Whose line. @default the queue's `key` of the payload */
  key?: string;
  /** Tokens that the start takes: positive, at most the capacity. @default 1 */
  cost?: number;
  /**
   * The same key within a queue key's line returns the same ticket and takes no second place; with
   * another payload it is an error. Kept until the result is forgotten.
   */
  idempotencyKey?: string;
  /** A whole number of ms, at least 0. @default the queue's */
  maxWaitMs?: number;
}

/** How many jobs are where. */
export interface QueueCounts {
  /** Accepted and not started. */
  waiting: number;
  active: number;
  completed: number;
  /** Expired ones included. */
  failed: number;
}

/** Options of `ticket.result`. */
export interface ResultOptions {
  /** Milliseconds to wait, at least 0. @default 60_000 */
  timeoutMs?: number;
  /** Ends the wait with the signal's reason. The job goes on. */
  signal?: AbortSignal;
}

/** What a job does. */
export type JobStatus<Result = unknown> =
  | {
      readonly state: 'waiting';
      /** When it will start, in epoch ms of Redis' clock; left out between two attempts. */
      readonly startsAt?: number;
      /** The same in ms from now. */
      readonly startsInMs?: number;
      /** Its place in its key's line, from 1; 0 = it starts now. */
      readonly position?: number;
    }
  | { readonly state: 'active' }
  | { readonly state: 'completed'; readonly value: Result }
  | Exclude<JobEnding, { state: 'completed' }>;
