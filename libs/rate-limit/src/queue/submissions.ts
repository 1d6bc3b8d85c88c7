// One submission after the other: the place in the line first, then the job in BullMQ, or neither.
import { randomBytes } from 'node:crypto';
import type { JobsOptions, Queue } from 'bullmq';
import {
  LimiterClosedError,
  StoreConfigurationError,
  StoreTimeoutError,
  StoreUnavailableError,
} from '../core/errors';
import { storeError } from '../store/redis/redis-errors';
import { endingText } from './ending';
import { InTime } from './in-time';
import { checkedJob, PARKED_MS, type PacedJobOptions } from './job-lane';
import type { Pacing, Submission } from './pacing';
import type { QueueNames } from './queue-names';
import type { QueueBounds } from './queue-face';
import type { QueueRedis } from './queue-redis';
import type { Reconciler } from './reconciler';
import { refusal, type Submitted } from './refusal';
import { Turns } from './turns';

/** A submission that was accepted. */
export type Accepted = Extract<Submitted, { kind: 'accepted' }>;

/** What submissions are made with. */
export interface SubmissionsParts {
  readonly name: string;
  readonly bounds: QueueBounds;
  /** BullMQ's options for every job, and whether the user gave some of them. */
  readonly job: JobsOptions;
  readonly jobGiven: boolean;
  readonly redis: QueueRedis;
  readonly queue: Queue;
  readonly names: QueueNames;
  readonly pacing: Pacing;
  readonly reconciler: Reconciler;
  readonly inTime: InTime;
}

/** A submission that takes longer to reach BullMQ has to be confirmed before its job starts. */
const MOST_TRUSTED_MS = 500;
/** Submissions of this process on their way to Redis at once. */
const MOST_SUBMITTING = 16;
/** Between two tries to take back what failed, while Redis is away. */
const WITHDRAW_AGAIN_MS = 250;
const MOST_WITHDRAWALS = 240;

/** Accepts jobs. */
export class Submissions {
  readonly #parts: SubmissionsParts;
  /** A flood of submissions must not keep this process from starting what it just submitted. */
  readonly #turns = new Turns(MOST_SUBMITTING);
  readonly #withdrawals = new Set<NodeJS.Timeout>();
  #closed = false;

  constructor(parts: SubmissionsParts) {
    this.#parts = parts;
  }

  /**
   * @throws QueueFullError, WaitTooLongError, IdempotencyConflictError: nothing was enqueued
   * @throws InvalidLimitError for options that BullMQ refuses, StoreUnavailableError, LimiterClosedError
   */
  async submit(
    request: Omit<Submission, 'id' | 'surelyWaitsMs'>,
    data: unknown,
    job: JobsOptions | undefined,
  ): Promise<Accepted> {
    const { name, queue, inTime } = this.#parts;
    if (this.#closed) throw new LimiterClosedError(`queue ${name} is closed`);
    const id = randomBytes(16).toString('hex');
    const surelyWaitsMs = Math.min(Math.floor(inTime.timeoutMs / 2), MOST_TRUSTED_MS);
    const submission = { ...request, id, surelyWaitsMs };
    const options = { ...this.#parts.job, ...job };
    if (job !== undefined || this.#parts.jobGiven) {
      checkedJob(queue, data, options, `queue ${name}: submit`);
    }
    return this.#turns.run(async () => {
      try {
        return await inTime.call((gone) => this.#submit(submission, data, options, gone));
      } catch (error) {
        // Redis has answered nothing for so long: those behind need not find that out one after the other.
        if (error instanceof StoreTimeoutError) this.#turns.failWaiting(error);
        throw error;
      }
    });
  }

  /** Takes no more, and gives up what could not be taken back: the reconciler frees those places. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#withdrawals) clearTimeout(timer);
    this.#withdrawals.clear();
  }

  async #submit(
    submission: Submission,
    data: unknown,
    job: JobsOptions,
    gone: () => boolean,
  ): Promise<Accepted> {
    const { name, redis, names } = this.#parts;
    try {
      let answer = await this.#accepted(submission);
      if (gone()) throw tookTooLong(name);
      if (answer.known && answer.unstarted && !(await this.#isAdded(answer.id))) {
        // Its first submission died on the way to BullMQ: it is still unstarted and not there.
        answer = await this.#accepted(submission);
        if (answer.known && answer.unstarted) await this.#add(submission, answer, data, job);
      }
      if (!answer.known) await this.#add(submission, answer, data, job);
      if (gone()) throw tookTooLong(name);
      // The word that lets it start however late that is. Nobody waits for it: without it, it starts a little later.
      redis.zrem(names.adding, answer.id).catch(() => undefined);
      return answer;
    } catch (error) {
      const failed = storeError(error);
      const refused = !(
        failed instanceof StoreUnavailableError || failed instanceof StoreConfigurationError
      );
      if (!refused) this.#withdraw(submission);
      throw failed;
    }
  }

  /** The script's answer; when a bound is reached, once more after places of jobs that are gone were freed. */
  async #accepted(submission: Submission): Promise<Accepted> {
    const { name, pacing, bounds, reconciler } = this.#parts;
    let answer = await pacing.submit(submission, bounds);
    const full = answer.kind === 'lane-full' || answer.kind === 'queue-full';
    if (
      full &&
      (await reconciler.freePlaces(answer.kind === 'lane-full' ? submission.lane : undefined))
    ) {
      answer = await pacing.submit(submission, bounds);
    }
    if (answer.kind !== 'accepted') throw refusal(name, answer, submission.maxWaitMs, bounds);
    return answer;
  }

  async #isAdded(id: string): Promise<boolean> {
    const { redis, queue } = this.#parts;
    return (await redis.exists(queue.toKey(id))) === 1;
  }

  async #add(
    { lane, cost }: Submission,
    answer: Accepted,
    data: unknown,
    job: JobsOptions,
  ): Promise<void> {
    const { name, queue } = this.#parts;
    const options: PacedJobOptions = {
      ...job,
      jobId: answer.id,
      timestamp: answer.nowMs,
      delay: answer.atOnce ? 0 : PARKED_MS,
      rateLimit: { lane: lane.token, cost, record: lane.record },
    };
    await queue.add(name, data, options);
  }

  /** The caller was told that it failed, so it must neither hold a place nor run. */
  #withdraw(submission: Submission, tries = 0): void {
    const { pacing, queue, bounds } = this.#parts;
    const ending = { result: endingText({ state: 'cancelled' }), ttlMs: bounds.resultTtlMs };
    pacing
      .withdraw(submission, ending)
      .then(() => queue.remove(submission.id))
      .catch(() => {
        if (this.#closed || tries >= MOST_WITHDRAWALS) return;
        const timer = setTimeout(() => {
          this.#withdrawals.delete(timer);
          this.#withdraw(submission, tries + 1);
        }, WITHDRAW_AGAIN_MS).unref();
        this.#withdrawals.add(timer);
      });
  }
}

function tookTooLong(queue: string): StoreTimeoutError {
  return new StoreTimeoutError(`queue ${queue}: Redis did not answer in time`);
}
