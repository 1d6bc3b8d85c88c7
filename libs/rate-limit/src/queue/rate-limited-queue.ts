// The queued limiter: accepts work up to a bound, says when it will start, and paces it per key.
import { createHash } from 'node:crypto';
import type { JobsOptions, Queue } from 'bullmq';
import { WaitTooLongError } from '../core/errors';
import { checkOptions } from '../limiter/call-checks';
import { storeError } from '../store/redis/redis-errors';
import { endingText } from './ending';
import type { InTime } from './in-time';
import type { JobResults } from './job-results';
import type { JobStatuses } from './job-status';
import type { Lane } from './lane';
import type { Lanes } from './lanes';
import type { Pacing, Submission } from './pacing';
import { QueueFullError } from './queue-errors';
import type { JobStatus, QueueBounds, QueueCounts, ResultOptions, SubmitTerms } from './queue-face';
import type { QueueNames } from './queue-names';
import { checkJobOptions } from './queue-options';
import { wholeNumber } from './whole-number';
import type { Reconciler } from './reconciler';
import {
  checkIdempotencyKey,
  checkItems,
  checkJobId,
  checkedCost,
  serialised,
} from './submission-checks';
import type { Accepted, Submissions } from './submissions';
import type { Ticket } from './ticket';

/** Options of one submission. */
export interface SubmitOptions extends SubmitTerms {
  /** BullMQ's own options for this job, on top of the queue's. */
  job?: JobsOptions;
}

/** One item of `submitMany`. */
export interface SubmitItem<Data> extends SubmitOptions {
  data: Data;
}

/** What a queue is made of. */
export interface RateLimitedQueueParts {
  readonly name: string;
  readonly bounds: QueueBounds;
  readonly queue: Queue;
  readonly names: QueueNames;
  readonly pacing: Pacing;
  readonly lanes: Lanes;
  readonly results: JobResults;
  readonly statuses: JobStatuses;
  readonly reconciler: Reconciler;
  readonly submissions: Submissions;
  readonly inTime: InTime;
  /** Lets running jobs of this process end. */
  readonly stopWorking: () => Promise<void>;
  /** Ends everything else that the queue opened. */
  readonly close: () => Promise<void>;
}

/** A queue whose jobs start at the pace of a limit, one line a key. */
export class RateLimitedQueue<Data = unknown, Result = unknown> {
  readonly #parts: RateLimitedQueueParts;
  #closing: Promise<void> | undefined;

  constructor(parts: RateLimitedQueueParts) {
    this.#parts = parts;
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
    checkOptions(options, `queue ${this.name}: submit`);
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
   * Submits many, in order. The first one that fails ends it and is thrown: those before it are in the
   * queue, those after it are not (one that had started already runs on). Give each an
   * `idempotencyKey` to be able to repeat the call.
   */
  async submitMany(items: readonly SubmitItem<Data>[]): Promise<Ticket<Result>[]> {
    checkItems(items, this.name);
    // Sent one behind the other on one connection, so they keep their order.
    const sent = await Promise.allSettled(
      items.map(({ data, ...options }) => this.submit(data, options)),
    );
    const failed = sent.findIndex(({ status }) => status === 'rejected');
    const tickets = sent.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    if (failed < 0) return tickets;
    const after = tickets.slice(failed).filter(({ known }) => !known);
    await Promise.all(after.map((ticket) => ticket.cancel().catch(() => false)));
    throw (sent[failed] as PromiseRejectedResult).reason as Error;
  }

  /** Submits into a given line. For `deferTo`, whose line is that of the route's bucket. */
  async submitTo(
    lane: Lane,
    data: Data,
    { cost = 1, idempotencyKey, maxWaitMs, job }: SubmitOptions,
  ): Promise<Ticket<Result>> {
    const { name, bounds, names, submissions } = this.#parts;
    const place = `queue ${name}: submit`;
    const payload = serialised(data, `queue ${name}`);
    checkJobOptions(job, place);
    const request = {
      lane,
      cost: checkedCost(cost, lane.bucket, name),
      maxWaitMs: wholeNumber(maxWaitMs ?? bounds.maxWaitMs, place, 'maxWaitMs', 0),
      idempotency: idempotency(names, lane, idempotencyKey, payload),
    };
    return this.#ticket(await submissions.submit(request, data, job));
  }

  /** A ticket for a job that was submitted before, in any process. */
  ticket(id: string): Pick<Ticket<Result>, 'id' | 'result' | 'cancel' | 'ending'> {
    checkJobId(id, this.name);
    return {
      id,
      result: (options?: ResultOptions) => this.#parts.results.wait(id, options) as Promise<Result>,
      cancel: () => this.#parts.inTime.call(() => this.#cancel(id)),
      ending: () => this.#parts.inTime.call(() => this.#parts.results.ending(id)),
    };
  }

  /** What a job does now; `undefined` for one that is not known, or was forgotten. */
  async status(id: string): Promise<JobStatus<Result> | undefined> {
    checkJobId(id, this.name);
    const { statuses, inTime } = this.#parts;
    return inTime.call(() => statuses.of(id) as Promise<JobStatus<Result> | undefined>);
  }

  /** True when this line has a job, or its result, of this idempotency key. For `deferTo`. */
  async knows(lane: Lane, idempotencyKey: string): Promise<boolean> {
    const { statuses, names, inTime } = this.#parts;
    const { entry } = idempotency(names, lane, idempotencyKey, '') as { entry: string };
    return inTime.call(() => statuses.isKnown(entry));
  }

  /** Jobs of this queue by what they do. */
  async counts(): Promise<QueueCounts> {
    const { queue, inTime } = this.#parts;
    const bull = await inTime.call(() =>
      queue.getJobCounts(...WAITING, 'active', 'completed', 'failed'),
    );
    return {
      waiting: WAITING.reduce((sum, state) => sum + (bull[state] ?? 0), 0),
      active: bull.active ?? 0,
      completed: bull.completed ?? 0,
      failed: bull.failed ?? 0,
    };
  }

  /** No job starts any more, in any process, until `resume`. Running ones go on. */
  async pause(): Promise<void> {
    await this.#parts.inTime.call(() => this.#parts.queue.pause());
  }

  async resume(): Promise<void> {
    await this.#parts.inTime.call(() => this.#parts.queue.resume());
  }

  /**
   * Removes every job that has not started.
   * @throws StoreUnavailableError, LimiterClosedError
   */
  async drain(): Promise<void> {
    const { queue, reconciler, inTime } = this.#parts;
    // Not begun while Redis is away; it may take long itself.
    await inTime.call(() => queue.count());
    try {
      await queue.drain(true);
      await reconciler.dropAllGone();
    } catch (error) {
      throw storeError(error);
    }
  }

  /**
   * No job of this key starts for `ms` (0 ends a pause). Other keys are not touched.
   * @param ms a whole number of ms, at least 0
   */
  async pauseKey(key: string, ms: number): Promise<void> {
    const { name, lanes, pacing, inTime } = this.#parts;
    wholeNumber(ms, `queue ${name}: pauseKey`, 'ms', 0);
    const lane = lanes.ofKey(key);
    await inTime.call(() => pacing.pause(lane, ms));
  }

  /**
   * Lets running jobs end for a while (what they submit is still taken), stops intake, leaves waiting
   * jobs in Redis, and closes what the queue opened. Idempotent.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { stopWorking, submissions, inTime, close } = this.#parts;
    await stopWorking();
    submissions.close();
    inTime.close();
    await close();
  }

  #ticket({ id, nowMs, waitUs, position, known }: Accepted): Ticket<Result> {
    const startsInMs = Math.ceil(waitUs / 1000);
    return { ...this.ticket(id), startsAt: nowMs + startsInMs, startsInMs, position, known };
  }

  async #cancel(id: string): Promise<boolean> {
    const { pacing, lanes, queue, bounds } = this.#parts;
    const job = await queue.getJob(id);
    if (job === undefined) return false;
    const result = endingText({ state: 'cancelled' });
    const ending = { result, ttlMs: bounds.resultTtlMs };
    if (!(await pacing.drop(id, lanes.ofJob(job), false, ending))) return false;
    // It may be in a worker's hands already: the worker is told that it was cancelled.
    await job.remove().catch(() => undefined);
    return true;
  }
}

/** BullMQ's states of jobs that were accepted and have not started. */
const WAITING = ['wait', 'delayed', 'prioritized', 'waiting-children'] as const;

function idempotency(
  names: QueueNames,
  lane: Lane,
  key: string | undefined,
  payload: string,
): Submission['idempotency'] {
  if (key === undefined) return undefined;
  checkIdempotencyKey(key);
  const digest = (text: string) => createHash('sha256').update(text).digest('base64url');
  return {
    entry: names.idempotency(digest(JSON.stringify([lane.token, key]))),
    digest: digest(payload),
  };
}
