// A BullMQ worker that asks before it starts anything, and tells when it is done.
import {
  DelayedError,
  UnrecoverableError,
  Worker,
  type ConnectionOptions,
  type Job,
  type WorkerOptions,
} from 'bullmq';
import { systemClock } from '../core/clock';
import { endingText, type JobEnding } from './ending';
import { ONE_TOKEN, pacedOptions, PARKED_MS } from './job-lane';
import type { Lane } from './lane';
import type { Lanes } from './lanes';
import type { Pacing } from './pacing';
import { endsWithin } from './in-time';
import type { RetryKeyLater } from './queue-errors';

/** What a processor gets beside the job. */
export interface ProcessContext {
  /** Aborts when the worker gives the job up. */
  readonly signal: AbortSignal | undefined;
  /** BullMQ's lock token of this run. */
  readonly token: string;
}

/** Does the work of one job; the returned value is the job's result. */
export interface JobProcessor<Data = unknown, Result = unknown> {
  process(job: Job<Data, Result>, context: ProcessContext): Promise<Result> | Result;
}

/** What a worker works with. */
export interface PacedWorkerOptions {
  readonly queue: string;
  readonly prefix: string | undefined;
  readonly connection: ConnectionOptions;
  readonly worker: Partial<WorkerOptions>;
  readonly concurrency: number;
  readonly pacing: Pacing;
  readonly processor: JobProcessor;
  readonly resultTtlMs: number;
  readonly lanes: Lanes;
  readonly mostInFlight: () => number;
  readonly onError: (error: unknown) => void;
}

/** Between two tries of what must be done before a job may go on, while Redis is away. */
const ASK_AGAIN_MS = 200;
/** Until a job that its submitter may take back is looked at again. */
const UNSURE_MS = 250;
/** After the grace time, for jobs that end when they are told to. */
const LAST_WORDS_MS = 500;
/** Errors by which a processor tells BullMQ that it moved the job itself. */
const MOVED_BY_PROCESSOR = ['DelayedError', 'WaitingError', 'WaitingChildrenError'];

/** Runs the jobs of a queue, each only when it has paid. */
export class PacedWorker {
  readonly #options: PacedWorkerOptions;
  readonly #worker: Worker;
  #closing = false;

  constructor(options: PacedWorkerOptions) {
    this.#options = options;
    const { queue, prefix, connection, worker, concurrency } = options;
    this.#worker = new Worker(queue, (job, token, signal) => this.#run(job, token ?? '', signal), {
      ...worker,
      concurrency,
      connection,
      prefix: prefix ?? worker.prefix,
    });
    this.#worker.on('error', options.onError);
    // Not before BullMQ knows: who was told the result shall find the job ended. A lost message is made
    // up for by those who wait: they look every so often.
    const tell = (job?: Job) => {
      if (job?.id !== undefined) options.pacing.tellEnded(job.id).catch(() => undefined);
    };
    this.#worker.on('completed', tell).on('failed', tell);
  }

  /** BullMQ's worker, for its events. */
  get bullWorker(): Worker {
    return this.#worker;
  }

  async ready(): Promise<void> {
    await this.#worker.waitUntilReady();
  }

  /** Takes no more jobs and lets the running ones end, for at most `graceMs`. Never longer, whatever Redis does. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const closed = this.#worker.close().catch(this.#options.onError);
    if (await endsWithin(closed, graceMs)) return;
    this.#worker.cancelAllJobs('the application is closing');
    // They may end on the signal. What still runs is picked up by another worker when its lock has run out.
    if (await endsWithin(closed, LAST_WORDS_MS)) return;
    // BullMQ's own close waits for them, and a second one for the first.
    await endsWithin(
      this.#worker.getBackend().close(true).catch(this.#options.onError),
      LAST_WORDS_MS,
    );
  }

  async #run(job: Job, token: string, signal: AbortSignal | undefined): Promise<unknown> {
    const id = job.id as string;
    const lane = this.#options.lanes.ofJob(job);
    await this.#untilItMayStart(job, id, lane, token);
    let result: unknown;
    try {
      result = await this.#options.processor.process(job, { signal, token });
    } catch (error) {
      throw await this.#failed(job, id, lane, token, error);
    }
    await this.#finished(id, lane, false, { state: 'completed', value: result });
    return result;
  }

  /** Returns when the job has paid and its moment has come; throws when it is not to run now. */
  async #untilItMayStart(job: Job, id: string, lane: Lane, token: string): Promise<void> {
    const verdict = await this.#ask(job, id, lane);
    if (verdict.kind === 'run') {
      if (verdict.afterUs > 0) await sleep(Math.ceil(verdict.afterUs / 1000));
      return;
    }
    if (verdict.kind === 'later') await this.#putBack(job, token);
    if (verdict.kind === 'unsure') await this.#putBack(job, token, UNSURE_MS);
    if (verdict.kind === 'cancelled') throw new UnrecoverableError('cancelled');
    await this.#finished(id, lane, false, { state: 'expired' });
    throw new UnrecoverableError('expired: the job could not start within its maxWaitMs');
  }

  async #ask(job: Job, id: string, lane: Lane) {
    const { pacing, mostInFlight } = this.#options;
    const cost = pacedOptions(job)?.cost ?? ONE_TOKEN;
    return this.#untilDone(() => pacing.start(id, lane, cost, mostInFlight()));
  }

  /** Redis being away, or refusing us, is no failure of the job: no attempt is burnt for that. */
  async #untilDone<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        this.#options.onError(error);
        // While closing, its lock runs out and another worker picks it up.
        if (this.#closing) throw new DelayedError('Redis is away');
        await sleep(ASK_AGAIN_MS);
      }
    }
  }

  /** Back to BullMQ's delayed jobs, until the pacer promotes it or `ms` are over. Never returns. */
  async #putBack(job: Job, token: string, ms = PARKED_MS): Promise<never> {
    await job.moveToDelayed(systemClock.nowMs() + ms, token);
    throw new DelayedError('its turn has not come');
  }

  /** Books the end of an attempt that threw; returns what BullMQ is to be told. */
  async #failed(job: Job, id: string, lane: Lane, token: string, error: unknown): Promise<unknown> {
    const name = error instanceof Error ? error.name : '';
    if (name === 'RetryKeyLater') {
      const { ms } = error as RetryKeyLater;
      return this.#untilDone(() => this.#options.pacing.pause(lane, ms, id)).then(
        () => this.#putBack(job, token).catch((delayed: unknown) => delayed),
        (closing: unknown) => closing,
      );
    }
    const moved = MOVED_BY_PROCESSOR.includes(name);
    const last = name === 'UnrecoverableError' || job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    const reason = error instanceof Error ? error.message : String(error);
    if (moved || !last) await this.#finished(id, lane, true);
    else await this.#finished(id, lane, false, { state: 'failed', reason });
    return error;
  }

  /** Frees the job's place. Redis being away is no failure of the job: the reconciler heals it. */
  async #finished(id: string, lane: Lane, retry: boolean, ending?: JobEnding): Promise<void> {
    const { pacing, resultTtlMs, onError } = this.#options;
    const kept = ending && { result: endingText(ending), ttlMs: resultTtlMs };
    await pacing.finish(id, lane, retry, kept).catch(onError);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
