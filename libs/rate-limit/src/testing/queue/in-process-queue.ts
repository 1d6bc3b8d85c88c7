// The queue that submitters hold in a test: the face of RateLimitedQueue, without Redis and BullMQ.
import { LimiterClosedError, UnsupportedOperationError, WaitTooLongError } from '../../core/errors';
import type { Scheduler } from '../../core/clock';
import { msFromUsCeil } from '../../core/duration';
import { checkOptions } from '../../limiter/call-checks';
import { bucketNumbers } from '../../queue/lane';
import type { JobEnding } from '../../queue/ending';
import { QueueFullError } from '../../queue/queue-errors';
import type { JobStatus, QueueBounds, QueueCounts, ResultOptions } from '../../queue/queue-face';
import { checkJobOptions } from '../../queue/queue-options';
import { wholeNumber } from '../../queue/whole-number';
import { refusal } from '../../queue/refusal';
import {
  checkedCost,
  checkedTimeout,
  checkIdempotencyKey,
  checkItems,
  checkJobId,
  serialised,
} from '../../queue/submission-checks';
import type { Ticket } from '../../queue/ticket';
import { valueOf } from '../../queue/ending';
import type { InProcessLane } from './in-process-lane';
import type { InProcessLanes } from './in-process-lanes';
import type { InProcessLine } from './in-process-line';
import type { InProcessSubmitOptions, JobRetries } from './in-process-options';
import type { InProcessResults } from './in-process-results';

/** What a queue is made of. */
export interface InProcessQueueParts {
  readonly name: string;
  readonly clock: Scheduler;
  readonly bounds: QueueBounds;
  readonly job: JobRetries;
  readonly lanes: InProcessLanes;
  readonly line: InProcessLine;
  readonly results: InProcessResults;
  /** Lets running jobs end. */
  readonly stopWorking: () => Promise<void>;
}

/** One item of `submitMany`. */
export interface InProcessSubmitItem<Data> extends InProcessSubmitOptions {
  data: Data;
}

/**
 * A queue in this process, on the clock of a test: jobs start exactly when the limit says, as the clock is moved. What
 * is submitted and returned goes through JSON, as it would through Redis.
 */
export class InProcessQueue<Data = unknown, Result = unknown> {
  readonly #parts: InProcessQueueParts;
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(parts: InProcessQueueParts) {
    this.#parts = parts;
  }

  get name(): string {
    return this.#parts.name;
  }

  /** @throws UnsupportedOperationError: there is none here */
  get bullQueue(): never {
    throw new UnsupportedOperationError(
      `queue ${this.name}: it runs in this process and has no queue of BullMQ; test that against a real Redis`,
    );
  }

  /**
   * Accepts a job. One that may start at once has started when this returns.
   *
   * @throws QueueFullError, WaitTooLongError, IdempotencyConflictError: nothing was enqueued
   * @throws InvalidCostError, CostExceedsCapacityError, InvalidLimitError for what can never be
   */
  async submit(data: Data, options: InProcessSubmitOptions = {}): Promise<Ticket<Result>> {
    checkOptions(options, `queue ${this.name}: submit`);
    return this.submitTo(this.#parts.lanes.ofPayload(data, options.key), data, options);
  }

  /** Like `submit`, but `null` instead of QueueFullError and WaitTooLongError. */
  async trySubmit(
    data: Data,
    options: InProcessSubmitOptions = {},
  ): Promise<Ticket<Result> | null> {
    try {
      return await this.submit(data, options);
    } catch (error) {
      if (error instanceof QueueFullError || error instanceof WaitTooLongError) return null;
      throw error;
    }
  }

  /** Submits in order. The first one that fails ends it and is thrown; those before it are in the queue. */
  async submitMany(items: readonly InProcessSubmitItem<Data>[]): Promise<Ticket<Result>[]> {
    checkItems(items, this.name);
    const tickets: Ticket<Result>[] = [];
    for (const { data, ...options } of items) tickets.push(await this.submit(data, options));
    return tickets;
  }

  /** Submits into a given line. For `deferTo`. */
  async submitTo(
    lane: InProcessLane,
    data: Data,
    { cost = 1, idempotencyKey, maxWaitMs, job }: InProcessSubmitOptions,
  ): Promise<Ticket<Result>> {
    const { name, bounds, line } = this.#parts;
    const place = `queue ${name}: submit`;
    if (this.#closed) throw new LimiterClosedError(`queue ${name} is closed`);
    const payload = serialised(data, `queue ${name}`);
    checkJobOptions(job, place);
    if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey);
    const submission = {
      lane,
      cost: checkedCost(cost, bucketNumbers(lane.limit), name),
      maxWaitMs: wholeNumber(maxWaitMs ?? bounds.maxWaitMs, place, 'maxWaitMs', 0),
      payload,
      idempotencyKey,
      opts: { ...this.#parts.job, ...job },
    };
    const answer = line.submit(submission);
    if (answer.kind !== 'accepted') throw refusal(name, answer, submission.maxWaitMs, bounds);
    const { id, nowMs, waitUs, position, known } = answer;
    const startsInMs = msFromUsCeil(waitUs);
    return { ...this.ticket(id), startsAt: nowMs + startsInMs, startsInMs, position, known };
  }

  /** A ticket for a job that was submitted before. */
  ticket(id: string): Pick<Ticket<Result>, 'id' | 'result' | 'cancel' | 'ending'> {
    checkJobId(id, this.name);
    return {
      id,
      result: (options) => this.#result(id, options),
      cancel: async () => this.#parts.line.cancel(id),
      ending: async () => this.#ending(id),
    };
  }

  /** What a job does now; `undefined` for one that is not known, or was forgotten. */
  async status(id: string): Promise<JobStatus<Result> | undefined> {
    checkJobId(id, this.name);
    const { line, clock } = this.#parts;
    const job = line.jobs.find(id);
    switch (job?.state) {
      case 'waiting':
      case 'granted': {
        const { waitUs, position } = line.placeOf(job);
        const startsInMs = msFromUsCeil(waitUs);
        const startsAt = Math.floor(clock.nowMs()) + startsInMs;
        return { state: 'waiting', startsAt, startsInMs, position };
      }
      case 'between':
        return { state: 'waiting' };
      case 'running':
        return { state: 'active' };
      default:
        return job?.ending as JobStatus<Result> | undefined;
    }
  }

  /** True when this line has a job, or its result, of this idempotency key. For `deferTo`. */
  async knows(lane: InProcessLane, idempotencyKey: string): Promise<boolean> {
    return this.#parts.line.jobs.known(lane, idempotencyKey) !== undefined;
  }

  async counts(): Promise<QueueCounts> {
    const { line } = this.#parts;
    return {
      waiting: line.jobs.count('waiting', 'granted', 'between'),
      active: line.jobs.count('running'),
      completed: line.jobs.count('completed'),
      failed: line.jobs.count('failed', 'expired'),
    };
  }

  /** No job starts any more until `resume`. Running ones go on. */
  async pause(): Promise<void> {
    this.#parts.line.pause(true);
  }

  async resume(): Promise<void> {
    this.#parts.line.pause(false);
  }

  /** Removes every job that has not started. */
  async drain(): Promise<void> {
    this.#parts.line.drain();
  }

  /** No job of this key starts for `ms` (0 ends a pause). @param ms a whole number, at least 0 */
  async pauseKey(key: string, ms: number): Promise<void> {
    const { name, lanes, line } = this.#parts;
    wholeNumber(ms, `queue ${name}: pauseKey`, 'ms', 0);
    line.pauseLane(lanes.ofKey(key), ms);
  }

  /** Lets running jobs end for a while, and takes no more. What waits is gone with the process. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { stopWorking, line, results } = this.#parts;
    await stopWorking();
    this.#closed = true;
    line.close();
    results.close();
  }

  async #result(id: string, options: ResultOptions = {}): Promise<Result> {
    const timeoutMs = checkedTimeout(options);
    if (this.#closed) throw new LimiterClosedError(`job ${id}: the queue is closed`);
    options.signal?.throwIfAborted();
    const ending = this.#ending(id);
    if (ending !== undefined) return valueOf(id, ending) as Result;
    return (await this.#parts.results.wait(id, timeoutMs, options.signal)) as Result;
  }

  /** One that is not known is gone, as if it had been cancelled. */
  #ending(id: string): JobEnding | undefined {
    const job = this.#parts.line.jobs.find(id);
    return job === undefined ? { state: 'cancelled' } : job.ending;
  }
}
