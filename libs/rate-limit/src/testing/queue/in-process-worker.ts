// Runs the jobs of a queue in this process, and says what is to become of each.
// Of node:timers, so that faked global timers cannot stop it.
import { clearTimeout, setTimeout } from 'node:timers';
import { endingText, parseEnding, type JobEnding } from '../../queue/ending';
import { wholeNumber } from '../../queue/whole-number';
import { backoffMs, type BackoffStrategy } from './backoff';
import type { InProcessJob } from './in-process-job';

/** What runs the jobs. */
export interface InProcessProcessor {
  process(
    job: InProcessJob<never, never>,
    context: { readonly signal: AbortSignal; readonly token: string },
  ): unknown;
}

/** What came of an attempt: it ended, may be tried again after a rest, or its key is to pause first. */
export type Attempt =
  | { readonly kind: 'ended'; readonly ending: JobEnding }
  | { readonly kind: 'retry'; readonly inMs: number }
  | { readonly kind: 'pause-key'; readonly forMs: number };

/** How long running jobs may take to end when the queue closes, before and after their signal; in real time. */
const CLOSE_GRACE_MS = 200;
const LAST_WORDS_MS = 200;

/** The worker of a queue. */
export class InProcessWorker {
  readonly #running = new Map<Promise<unknown>, AbortController>();
  #tokens = 0;

  constructor(
    private readonly processor: InProcessProcessor,
    readonly concurrency: number,
    private readonly strategy: BackoffStrategy | undefined,
  ) {}

  get hasRoom(): boolean {
    return this.#running.size < this.concurrency;
  }

  /** Calls the processor now. Never fails. */
  run(job: InProcessJob, nowMs: () => number): Promise<Attempt> {
    const controller = new AbortController();
    job.attemptsStarted++;
    job.processedOn = nowMs();
    const attempt = this.#attempt(job, controller.signal).finally(() =>
      this.#running.delete(attempt),
    );
    this.#running.set(attempt, controller);
    return attempt;
  }

  /** Lets running jobs end for a while, then tells them by their signal, and goes. */
  async close(): Promise<void> {
    if (await this.#endWithin(CLOSE_GRACE_MS)) return;
    const reason = new Error('the application is closing');
    for (const controller of this.#running.values()) controller.abort(reason);
    await this.#endWithin(LAST_WORDS_MS);
  }

  async #endWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), ms);
    });
    const all = Promise.allSettled(this.#running.keys()).then(() => true);
    const ended = await Promise.race([all, late]);
    clearTimeout(timer);
    return ended;
  }

  async #attempt(job: InProcessJob, signal: AbortSignal): Promise<Attempt> {
    try {
      const token = `in-process:${++this.#tokens}`;
      const value = await this.processor.process(job as InProcessJob<never, never>, {
        signal,
        token,
      });
      job.attemptsMade++;
      // As it would come back from Redis.
      return { kind: 'ended', ending: parseEnding(endingText({ state: 'completed', value })) };
    } catch (error) {
      return await this.#failed(job, error);
    }
  }

  async #failed(job: InProcessJob, error: unknown): Promise<Attempt> {
    const reason = error instanceof Error ? error.message : String(error);
    const name = error instanceof Error ? error.name : '';
    try {
      if (name === 'RetryKeyLater') {
        const { ms } = error as { ms?: unknown };
        return { kind: 'pause-key', forMs: wholeNumber(ms, 'RetryKeyLater', 'ms', 0) };
      }
      job.attemptsMade++;
      if (name !== 'UnrecoverableError' && job.attemptsMade < (job.opts.attempts ?? 1)) {
        const inMs = await backoffMs(job, job.attemptsMade, error, this.strategy);
        if (inMs >= 0) return { kind: 'retry', inMs };
      }
      return { kind: 'ended', ending: { state: 'failed', reason } };
    } catch (wrong) {
      const { message } = wrong as Error;
      return { kind: 'ended', ending: { state: 'failed', reason: message } };
    }
  }
}
