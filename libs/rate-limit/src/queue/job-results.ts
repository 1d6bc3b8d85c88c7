// Waiting for jobs to end, from any process: a message tells that one did, the kept result tells how.
import type { Queue } from 'bullmq';
import { systemClock } from '../core/clock';
import { LimiterClosedError } from '../core/errors';
import { onAbort } from '../limiter/aborts';
import { endsWithin } from './in-time';
import type { Channels } from './channels';
import { parseEnding, valueOf, type JobEnding } from './ending';
import { ResultTimeoutError } from './queue-errors';
import type { ResultOptions } from './queue-face';
import type { QueueNames } from './queue-names';
import type { QueueRedis } from './queue-redis';
import { checkedTimeout } from './submission-checks';

/** How long a last look may take when the queue is closed. */
const LAST_LOOK_MS = 500;
/** Messages may be lost with a connection: every so often it is looked. */
const LOOK_EVERY_MS = 1000;

interface Waiter {
  readonly endsAtMs: number;
  readonly timeoutMs: number;
  readonly look: () => Promise<void>;
  readonly fail: (error: unknown) => void;
}

/** The results of a queue's jobs. */
export class JobResults {
  readonly #waiters = new Map<string, Set<Waiter>>();
  #timer: NodeJS.Timeout | undefined;
  #tickAtMs = 0;
  #closed = false;
  #listening: Promise<() => void> | undefined;

  constructor(
    private readonly redis: QueueRedis,
    private readonly names: QueueNames,
    private readonly channels: Channels,
    private readonly queue: Queue,
  ) {}

  /** How a job ended; `undefined` while it has not. */
  async ending(id: string): Promise<JobEnding | undefined> {
    const kept = await this.#kept(id);
    if (kept !== undefined) return kept;
    // Ended by other hands than ours: by another tool, or by BullMQ itself (stalled too often).
    const job = await this.queue.getJob(id);
    if (job === undefined) {
      const [record] = await this.redis.hmget(this.names.jobs, id);
      if (record !== null) return undefined;
      // Gone; or it ended while we looked.
      return (await this.#kept(id)) ?? { state: 'cancelled' };
    }
    if (job.finishedOn === undefined) return undefined;
    return job.failedReason === undefined
      ? { state: 'completed', value: job.returnvalue as unknown }
      : { state: 'failed', reason: job.failedReason };
  }

  /**
   * The value of a job, as soon as there is one.
   * @throws ResultTimeoutError, JobFailedError, JobExpiredError, JobCancelledError, or the signal's reason
   */
  async wait(id: string, options: ResultOptions = {}): Promise<unknown> {
    const timeoutMs = checkedTimeout(options);
    const { signal } = options;
    if (this.#closed) throw new LimiterClosedError(`job ${id}: the queue is closed`);
    signal?.throwIfAborted();
    this.#listening ??= this.channels.listen(this.names.ended, (ended) => {
      for (const waiter of this.#waiters.get(ended) ?? []) void waiter.look();
    });
    let resolve!: (ending: JobEnding) => void;
    let fail!: (error: unknown) => void;
    const ended = new Promise<JobEnding>((...settle) => ([resolve, fail] = settle));
    const waiter: Waiter = {
      endsAtMs: systemClock.monotonicMs() + timeoutMs,
      timeoutMs,
      // An error of Redis is not the job's: the next look may succeed.
      look: () =>
        this.ending(id).then(
          (ending) => {
            if (ending !== undefined) resolve(ending);
          },
          () => undefined,
        ),
      fail,
    };
    const stopListening = onAbort(signal, fail);
    this.#add(id, waiter);
    try {
      await Promise.race([this.#listening, ended.catch(() => undefined)]);
      void waiter.look();
      return valueOf(id, await ended);
    } finally {
      stopListening();
      this.#remove(id, waiter);
    }
  }

  /** Ends all waits: those whose jobs ended in the last moments with their results. */
  async close(): Promise<void> {
    this.#closed = true;
    const waiters = [...this.#waiters.values()].flatMap((ofJob) => [...ofJob]);
    await endsWithin(Promise.all(waiters.map(({ look }) => look())), LAST_LOOK_MS);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const [id, waiters] of this.#waiters) {
      const closed = new LimiterClosedError(`job ${id}: the queue was closed while waiting for it`);
      for (const { fail } of waiters) fail(closed);
    }
  }

  async #kept(id: string): Promise<JobEnding | undefined> {
    const kept = await this.redis.get(this.names.result(id));
    return kept === null ? undefined : parseEnding(kept);
  }

  #add(id: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, waiters.add(waiter));
    if (this.#timer === undefined || waiter.endsAtMs < this.#tickAtMs) {
      this.#tickAt(Math.min(waiter.endsAtMs, systemClock.monotonicMs() + LOOK_EVERY_MS));
    }
  }

  #remove(id: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(id);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.#waiters.delete(id);
    if (this.#waiters.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }

  /** One timer for all waiters: the next look, or the next one whose time is up. */
  #tickAt(atMs: number): void {
    clearTimeout(this.#timer);
    this.#tickAtMs = atMs;
    const inMs = Math.max(0, Math.ceil(atMs - systemClock.monotonicMs()));
    this.#timer = setTimeout(() => this.#tick(), inMs);
  }

  #tick(): void {
    const nowMs = systemClock.monotonicMs();
    let nextMs = nowMs + LOOK_EVERY_MS;
    for (const [id, waiters] of this.#waiters) {
      for (const waiter of waiters) {
        if (waiter.endsAtMs <= nowMs) {
          const { timeoutMs } = waiter;
          waiter.fail(new ResultTimeoutError(`job ${id} has not ended within ${timeoutMs} ms`));
        } else {
          void waiter.look();
          nextMs = Math.min(nextMs, waiter.endsAtMs);
        }
      }
    }
    this.#tickAt(nextMs);
  }
}
