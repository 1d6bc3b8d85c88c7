// Waiting for jobs to end, from any process: a message tells that one did, the kept result tells how.
import type { Queue } from 'bullmq';
import { systemClock } from '../core/clock';
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import type { Channels } from './channels';
import { parseEnding, valueOf, type JobEnding } from './ending';
import { ResultTimeoutError } from './queue-errors';
import type { QueueNames } from './queue-names';
import type { QueueRedis } from './queue-redis';

/** How long a result is waited for when nothing is said. */
const DEFAULT_TIMEOUT_MS = 60_000;
/** Messages may be lost with a connection: every so often it is looked. */
const LOOK_EVERY_MS = 1000;

/** Options of `ticket.result`. */
export interface ResultOptions {
  /** Milliseconds to wait, at least 0. @default 60_000 */
  timeoutMs?: number;
  /** Ends the wait with the signal's reason. The job goes on. */
  signal?: AbortSignal;
}

interface Waiter {
  readonly endsAtMs: number;
  readonly look: () => void;
  readonly expire: () => void;
}

/** The results of a queue's jobs. */
export class JobResults {
  readonly #waiters = new Map<string, Set<Waiter>>();
  #timer: NodeJS.Timeout | undefined;
  #tickAtMs = 0;
  #listening: Promise<() => void> | undefined;

  constructor(
    private readonly redis: QueueRedis,
    private readonly names: QueueNames,
    private readonly channels: Channels,
    private readonly queue: Queue,
  ) {}

  /** How a job ended; `undefined` while it has not. */
  async ending(id: string): Promise<JobEnding | undefined> {
    const kept = await this.redis.get(this.names.result(id));
    if (kept !== null) return parseEnding(kept);
    // Ended by other hands than ours: by another tool, or by BullMQ itself (stalled too often).
    const job = await this.queue.getJob(id);
    if (job === undefined) {
      const [record] = await this.redis.hmget(this.names.jobs, id);
      return record === null ? { state: 'cancelled' } : undefined;
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
  async wait(
    id: string,
    { timeoutMs = DEFAULT_TIMEOUT_MS, signal }: ResultOptions = {},
  ): Promise<unknown> {
    if (!(typeof timeoutMs === 'number' && timeoutMs >= 0)) {
      throw new InvalidLimitError(
        `result: timeoutMs ${shown(timeoutMs)} is not a number of at least 0`,
      );
    }
    signal?.throwIfAborted();
    this.#listening ??= this.channels.listen(this.names.ended, (ended) => {
      for (const waiter of this.#waiters.get(ended) ?? []) waiter.look();
    });
    let waiter: Waiter | undefined;
    let abort: (() => void) | undefined;
    try {
      const ended = new Promise<JobEnding>((resolve, reject) => {
        waiter = {
          endsAtMs: systemClock.monotonicMs() + timeoutMs,
          // An error of Redis is not the job's: the next look may succeed.
          look: () =>
            void this.ending(id).then(
              (ending) => ending !== undefined && resolve(ending),
              () => undefined,
            ),
          expire: () =>
            reject(new ResultTimeoutError(`job ${id} has not ended within ${timeoutMs} ms`)),
        };
        abort = () => reject(signal?.reason as Error);
      });
      signal?.addEventListener('abort', abort as () => void, { once: true });
      this.#add(id, waiter as unknown as Waiter);
      await Promise.race([this.#listening, ended.catch(() => undefined)]);
      (waiter as unknown as Waiter).look();
      return valueOf(id, await ended);
    } finally {
      if (abort !== undefined) signal?.removeEventListener('abort', abort);
      if (waiter !== undefined) this.#remove(id, waiter);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const waiters of this.#waiters.values()) for (const { expire } of waiters) expire();
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
    for (const waiters of this.#waiters.values()) {
      for (const waiter of waiters) {
        if (waiter.endsAtMs <= nowMs) {
          waiter.expire();
        } else {
          waiter.look();
          nextMs = Math.min(nextMs, waiter.endsAtMs);
        }
      }
    }
    this.#tickAt(nextMs);
  }
}
