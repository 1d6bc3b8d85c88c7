// The jobs of a queue from their submission to their end: accepts them, starts each at its moment, and keeps how they
// ended. One state machine, to be read as one: that is why the file is long.
import { randomBytes } from 'node:crypto';
import type { Scheduler } from '../../core/clock';
import { US_PER_MS, usFromMs } from '../../core/duration';
import type { JobEnding } from '../../queue/ending';
import type { QueueBounds } from '../../queue/queue-face';
import type { Submitted } from '../../queue/refusal';
import { InProcessJob } from './in-process-job';
import { InProcessJobs } from './in-process-jobs';
import type { InProcessLane, KeptJob } from './in-process-lane';
import type { InProcessLanes } from './in-process-lanes';
import type { JobRetries } from './in-process-options';
import type { Attempt, InProcessWorker } from './in-process-worker';

/** What a queue's jobs are kept with. */
export interface InProcessLineOptions {
  readonly queue: string;
  readonly clock: Scheduler;
  readonly lanes: InProcessLanes;
  readonly bounds: QueueBounds;
  readonly mostInFlight: (concurrency: number) => number;
  /** Told of each job that ended. */
  readonly onEnded: (id: string, ending: JobEnding) => void;
}

/** A job that asks to be accepted. */
export interface InProcessSubmission {
  readonly lane: InProcessLane;
  /** Thousandths of a token. */
  readonly cost: number;
  readonly maxWaitMs: number;
  /** JSON. */
  readonly payload: string;
  readonly idempotencyKey: string | undefined;
  readonly opts: JobRetries;
}

const CANCELLED: JobEnding = { state: 'cancelled' };

/** The jobs of a queue. */
export class InProcessLine {
  worker: InProcessWorker | undefined;
  #paused = false;
  #closed = false;
  readonly #jobs: InProcessJobs;
  #submitted = 0;
  /** Jobs that wait or are granted, and a ms before which none of them is late. */
  #unstarted = 0;
  #lateAfterMs = Infinity;
  #callOff: (() => void) | undefined;
  #looking = false;
  #lookAgain = false;

  constructor(private readonly options: InProcessLineOptions) {
    this.#jobs = new InProcessJobs(options.clock);
  }

  get jobs(): Pick<InProcessJobs, 'find' | 'count' | 'known'> {
    return this.#jobs;
  }

  /** Accepts a job, or says why not. What may start at once has started then. */
  submit({ lane, cost, maxWaitMs, payload, idempotencyKey, opts }: InProcessSubmission): Submitted {
    const { queue, bounds } = this.options;
    const nowUs = this.#nowUs();
    const nowMs = Math.floor(nowUs / US_PER_MS);
    const known = this.#jobs.known(lane, idempotencyKey);
    if (known !== undefined) {
      if (known.payload !== payload) return { kind: 'conflict' };
      const { id, state } = known.job;
      const unstarted = state === 'waiting' || state === 'granted';
      const place = lane.placeOf(known.job, nowUs);
      return { kind: 'accepted', id, nowMs, ...place, atOnce: false, known: true, unstarted };
    }
    const waitUs = lane.startsInUs(cost, nowUs);
    if (waitUs > maxWaitMs * US_PER_MS) return { kind: 'too-late', waitUs };
    const atOnce = lane.startsAtOnce(cost, nowUs);
    if (!atOnce) {
      if (lane.waiting.length >= bounds.maxQueue) return { kind: 'lane-full', waitUs };
      if (this.options.lanes.waiting >= bounds.maxQueueTotal) return { kind: 'queue-full', waitUs };
    }
    const id = randomBytes(16).toString('hex');
    const job: KeptJob = {
      id,
      seq: ++this.#submitted,
      lane,
      cost,
      deadlineMs: nowMs + maxWaitMs,
      state: 'waiting',
      atUs: nowUs,
      forgetAtMs: Infinity,
      seen: new InProcessJob(id, queue, JSON.parse(payload), opts, nowMs),
    };
    this.#jobs.add(job, idempotencyKey, payload);
    this.#unstarted++;
    this.#lateAfterMs = Math.min(this.#lateAfterMs, job.deadlineMs);
    if (atOnce) lane.grant(job, nowUs);
    else lane.wait(job);
    const position = atOnce ? 0 : lane.waiting.length;
    this.look();
    return { kind: 'accepted', id, nowMs, waitUs, position, atOnce, known: false, unstarted: true };
  }

  /** A job's wait from now, and its place in its line. */
  placeOf(job: KeptJob): { waitUs: number; position: number } {
    return job.lane.placeOf(job, this.#nowUs());
  }

  /** Ends a job that has not started. False when it has, or is not known. */
  cancel(id: string): boolean {
    const job = this.#jobs.find(id);
    if (job === undefined || job.state === 'running' || job.state === 'ended') return false;
    this.#remove(job, CANCELLED);
    this.look();
    return true;
  }

  /** Removes all jobs that have not started, results and all. */
  drain(): void {
    for (const { id } of this.#jobs.all) if (this.cancel(id)) this.#jobs.delete(id);
  }

  pause(paused: boolean): void {
    this.#paused = paused;
    this.look();
  }

  /** No job of the line starts for `ms`. */
  pauseLane(lane: InProcessLane, ms: number): void {
    lane.pauseEndsUs = this.#nowUs() + ms * US_PER_MS;
    this.look();
  }

  /** Starts no more jobs. */
  close(): void {
    this.#closed = true;
    this.#callOff?.();
  }

  /** Starts what may start now, ends what is too late, and arms the next look. */
  look(): void {
    // A processor that submits comes by here while we are at it.
    this.#lookAgain = true;
    if (this.#looking) return;
    this.#looking = true;
    let nextUs = Infinity;
    while (this.#lookAgain && !this.#closed) {
      this.#lookAgain = false;
      const nowUs = this.#nowUs();
      this.#endLate(nowUs);
      nextUs = this.#startNext(nowUs);
    }
    this.#looking = false;
    if (this.#unstarted === 0) this.#lateAfterMs = Infinity;
    nextUs = Math.min(nextUs, (this.#lateAfterMs + 1) * US_PER_MS);
    this.#callOff?.();
    if (this.#closed || nextUs === Infinity) return;
    const nowUs = this.#nowUs();
    this.#callOff = this.options.clock.after((nextUs - nowUs) / US_PER_MS, () => this.look());
  }

  /** Ends jobs whose deadline has passed. */
  #endLate(nowUs: number): void {
    const nowMs = Math.floor(nowUs / US_PER_MS);
    if (nowMs <= this.#lateAfterMs) return;
    this.#lateAfterMs = Infinity;
    for (const { granted, waiting } of this.options.lanes.all) {
      for (const job of [...granted, ...waiting]) {
        if (job.deadlineMs === 0) continue;
        if (job.deadlineMs >= nowMs) {
          this.#lateAfterMs = Math.min(this.#lateAfterMs, job.deadlineMs);
        } else {
          this.#remove(job, { state: 'expired' });
        }
      }
    }
  }

  #remove(job: KeptJob, ending: JobEnding): void {
    if (job.state !== 'between') this.#unstarted--;
    job.lane.remove(job);
    this.#end(job, ending);
  }

  /** Starts all that may start, one of each line in turn; says when the next one may, in µs. */
  #startNext(nowUs: number): number {
    const { worker } = this;
    if (worker === undefined || this.#paused) return Infinity;
    const mostInFlight = this.options.mostInFlight(worker.concurrency);
    let nextUs = Infinity;
    let open = this.options.lanes.all;
    while (open.length > 0 && worker.hasRoom && !this.#closed) {
      open = open.filter((lane) => {
        if (!worker.hasRoom) return false;
        const next = lane.next(nowUs, mostInFlight);
        if (next.job === undefined) nextUs = Math.min(nextUs, next.lookUs);
        else void this.#run(worker, next.job);
        return next.job !== undefined;
      });
    }
    return nextUs;
  }

  async #run(worker: InProcessWorker, job: KeptJob): Promise<void> {
    this.#unstarted--;
    job.state = 'running';
    // Its deadline was about its first start.
    job.deadlineMs = 0;
    job.lane.running++;
    const attempt = await worker.run(job.seen, () => this.options.clock.nowMs());
    job.lane.running--;
    this.#after(job, attempt);
    this.look();
  }

  #after(job: KeptJob, attempt: Attempt): void {
    const { lane } = job;
    switch (attempt.kind) {
      case 'ended':
        return this.#end(job, attempt.ending);
      case 'pause-key':
        // A job prolongs a pause that runs, it never shortens it.
        lane.pauseEndsUs = Math.max(lane.pauseEndsUs, this.#nowUs() + attempt.forMs * US_PER_MS);
        return this.#waitAgain(job);
      case 'retry':
        job.state = 'between';
        this.options.clock.after(attempt.inMs, () => {
          if (job.state !== 'between') return;
          this.#waitAgain(job);
          this.look();
        });
    }
  }

  #waitAgain(job: KeptJob): void {
    this.#unstarted++;
    job.lane.wait(job);
  }

  #end(job: KeptJob, ending: JobEnding): void {
    const { clock, bounds, onEnded } = this.options;
    const nowMs = clock.nowMs();
    job.state = 'ended';
    job.ending = ending;
    job.forgetAtMs = nowMs + bounds.resultTtlMs;
    job.seen.finishedOn = nowMs;
    if (ending.state === 'completed') job.seen.returnvalue = ending.value;
    if (ending.state === 'failed') job.seen.failedReason = ending.reason;
    onEnded(job.id, ending);
  }

  #nowUs(): number {
    return usFromMs(this.options.clock.nowMs());
  }
}
