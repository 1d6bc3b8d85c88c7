// The queued limiter: accepts work up to a bound, says when it will start, and paces it per key.
import { createHash, randomBytes } from 'node:crypto';
import type { Job, JobsOptions, Queue } from 'bullmq';
import {
  CostExceedsCapacityError,
  InvalidCostError,
  InvalidLimitError,
  LimiterClosedError,
  MissingKeyError,
  RateLimitError,
  StoreTimeoutError,
  StoreUnavailableError,
  WaitTooLongError,
} from '../core/errors';
import { costThousandths, shown } from '../core/limit';
import { Deadlines } from '../store/resilient/deadlines';
import { endingText } from './ending';
import type { PacedJobOptions } from './job-lane';
import type { JobResults, ResultOptions } from './job-results';
import type { Lane } from './lane';
import type { Lanes } from './lanes';
import type { Pacing, Submission, Submitted } from './pacing';
import { IdempotencyConflictError, QueueFullError } from './queue-errors';
import type { QueueNames } from './queue-names';
import { checkJobOptions, wholeNumber, type QueueBounds } from './queue-options';
import type { Reconciler } from './reconciler';
import type { Ticket } from './ticket';
import { Turns } from './turns';

/** Options of one submission. */
export interface SubmitOptions {
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
  /** BullMQ's own options for this job, on top of the queue's. */
  job?: JobsOptions;
}

/** One item of `submitMany`. */
export interface SubmitItem<Data> extends SubmitOptions {
  data: Data;
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

/** What a queue is made of. */
export interface RateLimitedQueueParts {
  readonly name: string;
  readonly bounds: QueueBounds;
  readonly job: JobsOptions;
  readonly queue: Queue;
  readonly names: QueueNames;
  readonly pacing: Pacing;
  readonly lanes: Lanes;
  readonly results: JobResults;
  readonly reconciler: Reconciler;
  /** Ends everything the queue opened. */
  readonly close: () => Promise<void>;
  /** The longest that one call waits for Redis, in ms. */
  readonly timeoutMs: number;
}

/** Submissions of this process on their way to Redis at once. */
const MOST_SUBMITTING = 16;

/** A queue whose jobs start at the pace of a limit, one line a key. */
export class RateLimitedQueue<Data = unknown, Result = unknown> {
  readonly #parts: RateLimitedQueueParts;
  readonly #deadlines: Deadlines;
  /** A flood of submissions must not keep this process from starting what it just submitted. */
  readonly #turns = new Turns(MOST_SUBMITTING);
  #closed: Promise<void> | undefined;

  constructor(parts: RateLimitedQueueParts) {
    this.#parts = parts;
    this.#deadlines = new Deadlines(parts.timeoutMs);
  }

  get name(): string {
    return this.#parts.name;
  }

  /** BullMQ's queue, for boards, events and flows. Jobs added to it directly are paced as well. */
  get bullQueue(): Queue<Data, Result> {
    return this.#parts.queue as Queue<Data, Result>;
  }

  /**
   * Accepts a job, durably, and says when it will start. Nothing is charged yet: it pays when it starts.
   *
   * @throws QueueFullError, WaitTooLongError, IdempotencyConflictError: nothing was enqueued
   * @throws InvalidCostError, CostExceedsCapacityError, InvalidLimitError for what can never be
   * @throws StoreUnavailableError when Redis does not answer in time; the job will not run
   */
  async submit(data: Data, options: SubmitOptions = {}): Promise<Ticket<Result>> {
    return this.submitTo(this.#parts.lanes.ofPayload(data, options.key), data, options);
  }

  /** Like `submit`, but `null` instead of QueueFullError and WaitTooLongError. */
  async trySubmit(data: Data, options: SubmitOptions = {}): Promise<Ticket<Result> | null> {
    try {
      return await this.submit(data, options);
    } catch (error) {
      if (error instanceof QueueFullError || error instanceof WaitTooLongError) return null;
      throw error;
    }
  }

  /**
   * Submits many, in order. The first one that is refused ends it: those before it are in the queue,
   * and its error carries nothing of them. Give each an `idempotencyKey` to be able to repeat it.
   */
  async submitMany(items: readonly SubmitItem<Data>[]): Promise<Ticket<Result>[]> {
    // Sent one behind the other on one connection, so they keep their order.
    return Promise.all(items.map(({ data, ...options }) => this.submit(data, options)));
  }

  /** Submits into a given line. For `deferTo`, whose line is that of the route's bucket. */
  async submitTo(
    lane: Lane,
    data: Data,
    { cost = 1, idempotencyKey, maxWaitMs, job }: SubmitOptions,
  ): Promise<Ticket<Result>> {
    const { name, bounds, names, queue } = this.#parts;
    if (this.#closed !== undefined) throw new LimiterClosedError(`queue ${name} is closed`);
    const place = `queue ${name}`;
    const payload = serialised(data, place);
    checkJobOptions(job, `${place}: submit`);
    const submission: Submission = {
      id: randomBytes(16).toString('hex'),
      lane,
      cost: this.#cost(cost, lane),
      maxWaitMs: wholeNumber(maxWaitMs ?? bounds.maxWaitMs, `${place}: submit`, 'maxWaitMs', 0),
      idempotency: idempotency(names, lane, idempotencyKey, payload),
    };
    const submitted = async (gone: () => boolean) => {
      const answer = await this.#accepted(submission);
      if (answer.known) return this.#ticket(answer);
      const options: PacedJobOptions = {
        ...this.#parts.job,
        ...job,
        jobId: answer.id,
        timestamp: answer.nowMs,
        // BullMQ's delay is the deadline; the pacer promotes the job when its turn comes.
        delay: answer.atOnce ? 0 : submission.maxWaitMs + 1,
        rateLimit: { lane: lane.token, cost: submission.cost, record: lane.record },
      };
      try {
        if (gone()) throw new StoreTimeoutError(`queue ${name}: the submission took too long`);
        await queue.add(name, data, options);
      } catch (error) {
        // What was not added must not hold a place. If this fails too, the reconciler frees it.
        await this.#parts.pacing.drop(answer.id, lane, false).catch(() => undefined);
        throw error;
      }
      return this.#ticket(answer);
    };
    return this.#turns.run(() => this.#inTime(submitted));
  }

  /** A ticket for a job that was submitted before, in any process. */
  ticket(id: string): Pick<Ticket<Result>, 'id' | 'result' | 'cancel' | 'ending'> {
    return {
      id,
      result: (options?: ResultOptions) => this.#parts.results.wait(id, options) as Promise<Result>,
      cancel: () => this.#cancel(id),
      ending: () => this.#parts.results.ending(id),
    };
  }

  /** Jobs of this queue by what they do. */
  async counts(): Promise<QueueCounts> {
    const { queue } = this.#parts;
    const bull = await queue.getJobCounts('active', 'completed', 'failed', 'wait', 'delayed');
    return {
      waiting: (bull.delayed ?? 0) + (bull.wait ?? 0),
      active: bull.active ?? 0,
      completed: bull.completed ?? 0,
      failed: bull.failed ?? 0,
    };
  }

  /** No job starts any more, in any process, until `resume`. Running ones go on. */
  async pause(): Promise<void> {
    await this.#parts.queue.pause();
  }

  async resume(): Promise<void> {
    await this.#parts.queue.resume();
  }

  /** Removes every job that has not started. */
  async drain(): Promise<void> {
    await this.#parts.queue.drain(true);
    await this.#parts.reconciler.dropAllGone();
  }

  /**
   * No job of this key starts for `ms` (0 ends a pause). Other keys are not touched.
   * @param ms a whole number of ms, at least 0
   */
  async pauseKey(key: string, ms: number): Promise<void> {
    const { name, lanes, pacing } = this.#parts;
    wholeNumber(ms, `queue ${name}: pauseKey`, 'ms', 0);
    await pacing.pause(lanes.ofKey(key), ms);
  }

  /**
   * Stops intake, lets running jobs end for a while, leaves waiting ones in Redis, and closes what
   * the queue opened. Idempotent.
   */
  close(): Promise<void> {
    this.#closed ??= (async () => {
      await this.#parts.close();
      this.#deadlines.close();
    })();
    return this.#closed;
  }

  /** Accepted; when a bound is reached, once more after the places of jobs that are gone were freed. */
  async #accepted(submission: Submission) {
    const { pacing, bounds, reconciler } = this.#parts;
    const limits = {
      maxQueue: bounds.maxQueue,
      maxQueueTotal: bounds.maxQueueTotal,
      lifeMs: submission.maxWaitMs + bounds.resultTtlMs,
    };
    let answer = await pacing.submit(submission, limits);
    if (answer.kind === 'lane-full' && (await reconciler.freePlaces(submission.lane)) > 0) {
      answer = await pacing.submit(submission, limits);
    }
    if (answer.kind !== 'accepted') throw this.#refusal(answer, submission);
    return answer;
  }

  #refusal(
    answer: Exclude<Submitted, { kind: 'accepted' }>,
    { maxWaitMs }: Submission,
  ): RateLimitError {
    const { name, bounds } = this.#parts;
    if (answer.kind === 'conflict') {
      return new IdempotencyConflictError(
        `queue ${name}: this idempotencyKey was used with another payload`,
      );
    }
    const waitMs = Math.ceil(answer.waitUs / 1000);
    if (answer.kind === 'too-late') {
      return new WaitTooLongError(
        `queue ${name}: the job would start in ${waitMs} ms, later than its maxWaitMs ${maxWaitMs}`,
        waitMs,
      );
    }
    return answer.kind === 'lane-full'
      ? new QueueFullError(
          `queue ${name}: ${bounds.maxQueue} jobs of this key wait already (maxQueue)`,
          'key',
          waitMs,
        )
      : new QueueFullError(
          `queue ${name}: ${bounds.maxQueueTotal} jobs wait already (maxQueueTotal)`,
          'queue',
          waitMs,
        );
  }

  #cost(cost: number, { bucket: [, q, capacity] }: Lane): number {
    const { name } = this.#parts;
    if (typeof cost !== 'number' || !(cost > 0 && cost < Infinity)) {
      throw new InvalidCostError(
        `queue ${name}: cost ${shown(cost)} is not a positive finite number`,
      );
    }
    const thousandths = costThousandths(cost);
    if (thousandths * q > capacity) {
      throw new CostExceedsCapacityError(
        `queue ${name}: cost ${cost} is more than the capacity ${capacity / (q * 1000)}: it could never start`,
      );
    }
    return thousandths;
  }

  #ticket(answer: Extract<Submitted, { kind: 'accepted' }>): Ticket<Result> {
    const { id, nowMs, waitUs, position, known } = answer;
    return { ...this.ticket(id), startsAt: nowMs + Math.ceil(waitUs / 1000), position, known };
  }

  async #cancel(id: string): Promise<boolean> {
    const { pacing, lanes, queue, bounds } = this.#parts;
    const job: Job | undefined = await queue.getJob(id);
    if (job === undefined) return false;
    const result = endingText({ state: 'cancelled' });
    const ending = { result, ttlMs: bounds.resultTtlMs };
    if (!(await pacing.drop(id, lanes.ofJob(job), false, ending))) return false;
    // It may be in a worker's hands already: the worker finds it gone and does not run it.
    await job.remove().catch(() => undefined);
    return true;
  }

  async #inTime<T>(call: (gone: () => boolean) => Promise<T>): Promise<T> {
    const { name, timeoutMs } = this.#parts;
    let gone = false;
    const made = call(() => gone).catch((error: unknown) => {
      if (error instanceof RateLimitError) throw error;
      throw new StoreUnavailableError(`queue ${name}: Redis is out: ${String(error)}`, {
        cause: error,
      });
    });
    return this.#deadlines.bound(made, () => {
      gone = true;
      return new StoreTimeoutError(`queue ${name}: Redis did not answer within ${timeoutMs} ms`);
    });
  }
}

/** The payload as JSON. @throws InvalidLimitError for what JSON cannot hold */
function serialised(data: unknown, place: string): string {
  let text: string | undefined;
  let why = 'it is undefined or a function';
  try {
    text = JSON.stringify(data);
  } catch (error) {
    why = String(error);
  }
  if (text === undefined) {
    throw new InvalidLimitError(`${place}: the payload cannot be written as JSON: ${why}`);
  }
  return text;
}

function idempotency(
  names: QueueNames,
  lane: Lane,
  key: string | undefined,
  payload: string,
): Submission['idempotency'] {
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || key === '') {
    throw new MissingKeyError(`idempotencyKey ${shown(key)} is not a non-empty string`);
  }
  const digest = (text: string) => createHash('sha256').update(text).digest('base64url');
  return {
    entry: names.idempotency(digest(JSON.stringify([lane.token, key]))),
    digest: digest(payload),
  };
}
