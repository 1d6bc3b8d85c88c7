// A line of jobs that pay one bucket: who may start now, and when the next one may. Does what the scripts of queue/lua
// do; see their heads for why.
import type { ParsedLimit } from '../../core/limit';
import type { JobEnding } from '../../queue/ending';
import type { InProcessJob } from './in-process-job';
import type { PacedBucket } from './paced-bucket';

/** Waits its turn · granted: it has paid, and waits for a worker · runs · between two attempts, unpaid · ended. */
export type JobState = 'waiting' | 'granted' | 'running' | 'between' | 'ended';

/** What is kept of a job. */
export interface KeptJob {
  readonly id: string;
  /** Its place in the order of the queue. */
  readonly seq: number;
  readonly lane: InProcessLane;
  /** Thousandths of a token. */
  readonly cost: number;
  /** After this ms it must not start any more; 0 = it may. */
  deadlineMs: number;
  state: JobState;
  /** The moment that a grant is for, in µs. */
  atUs: number;
  /** How it ended, once it has. */
  ending?: JobEnding;
  /** After this ms its result is forgotten. */
  forgetAtMs: number;
  /** What the processor sees. */
  readonly seen: InProcessJob;
}

/** The buckets of a line. */
export interface LaneBuckets {
  readonly bucket: PacedBucket;
  /** For a bucket that direct callers use as well: what queued work may use of it. */
  readonly share: PacedBucket | undefined;
}

/** A job to start; or when to look again. */
export type Next = { readonly job: KeptJob } | { readonly job: undefined; readonly lookUs: number };

const NOTHING: Next = { job: undefined, lookUs: Infinity };

/** The jobs of one key. */
export class InProcessLane {
  /** By their place in the order of the queue. */
  readonly waiting: KeptJob[] = [];
  /** Charged when they were submitted, since their tokens were there. */
  readonly granted: KeptJob[] = [];
  running = 0;
  /** No job starts before. */
  pauseEndsUs = 0;
  /** Of all that waits, in thousandths. */
  #waitingCost = 0;
  readonly #buckets: LaneBuckets;
  /** A token of a shared bucket, taken ahead of time for the head: direct callers would take every one before it. */
  #claim: { readonly atUs: number; readonly cost: number } | undefined;

  /**
   * @param limit whose capacity bounds the cost of a job
   * @param mostGranted of a shared bucket, how many jobs may be granted and not started
   */
  constructor(
    readonly token: string,
    readonly limit: ParsedLimit,
    buckets: LaneBuckets,
    private readonly mostGranted: number,
  ) {
    this.#buckets = buckets;
  }

  /** µs until a job of `cost` starts if `before` waits before it, in thousandths; by default all that waits. */
  startsInUs(cost: number, nowUs: number, before = this.#waitingCost): number {
    return this.#waitUs(cost, before, nowUs) + Math.max(0, this.pauseEndsUs - nowUs);
  }

  /** The same for one that waits, and its place from 1. */
  placeOf(job: KeptJob, nowUs: number): { waitUs: number; position: number } {
    const index = this.waiting.indexOf(job);
    if (index < 0) return { waitUs: 0, position: 0 };
    return {
      waitUs: this.startsInUs(job.cost, nowUs, this.#costBefore(index)),
      position: index + 1,
    };
  }

  /** A job that need not wait is charged at once, and waits for a worker only. */
  startsAtOnce(cost: number, nowUs: number): boolean {
    const { share } = this.#buckets;
    if (this.waiting.length > 0 || this.startsInUs(cost, nowUs) > 0) return false;
    return share === undefined || this.granted.length < this.mostGranted;
  }

  grant(job: KeptJob, nowUs: number): void {
    const { bucket, share } = this.#buckets;
    bucket.charge(job.cost);
    share?.charge(job.cost);
    (share ?? bucket).hold(job.cost);
    job.state = 'granted';
    job.atUs = nowUs;
    this.granted.push(job);
  }

  /** Puts a job into its place in the line. */
  wait(job: KeptJob): void {
    job.state = 'waiting';
    const at = this.waiting.findLastIndex(({ seq }) => seq < job.seq);
    this.waiting.splice(at + 1, 0, job);
    this.#waitingCost += job.cost;
  }

  /** The next job that may start, which has paid then. */
  next(nowUs: number, mostInFlight: number): Next {
    if (this.waiting.length + this.granted.length === 0 || this.running >= mostInFlight)
      return NOTHING;
    if (this.pauseEndsUs > nowUs) return { job: undefined, lookUs: this.pauseEndsUs };
    const [granted] = this.granted;
    if (granted !== undefined) {
      this.granted.shift();
      this.#paying.free(granted.cost);
      return { job: granted };
    }
    const [head] = this.waiting;
    const lookUs = this.#pay(head.cost, nowUs);
    if (lookUs > nowUs) return { job: undefined, lookUs };
    this.#leave(0);
    return { job: head };
  }

  /** Takes a job that has not started out of the line; what it had paid is given back. */
  remove(job: KeptJob): void {
    const { bucket, share } = this.#buckets;
    if (job.state === 'granted') {
      this.granted.splice(this.granted.indexOf(job), 1);
      this.#paying.free(job.cost);
      bucket.giveBack(job.cost, job.atUs);
      share?.giveBack(job.cost, job.atUs);
    } else if (job.state === 'waiting') {
      this.#leave(this.waiting.indexOf(job));
      // The claim would hold a token for nobody.
      if (this.waiting.length === 0) this.#returnClaim();
    }
  }

  #leave(index: number): void {
    const [{ cost }] = this.waiting.splice(index, 1);
    this.#waitingCost -= cost;
  }

  get #paying(): PacedBucket {
    return this.#buckets.share ?? this.#buckets.bucket;
  }

  #costBefore(index: number): number {
    let sum = 0;
    for (let i = 0; i < index; i++) sum += this.waiting[i].cost;
    return sum;
  }

  #waitUs(cost: number, before: number, nowUs: number): number {
    const { bucket, share } = this.#buckets;
    const claim = this.#claim;
    if (before === 0 && claim !== undefined) return Math.max(0, claim.atUs - nowUs);
    const unpaid = Math.max(0, before - (claim?.cost ?? 0));
    return Math.max(bucket.waitUs(cost, unpaid), share?.waitUs(cost, unpaid) ?? 0);
  }

  /** Pays for the head if its moment has come; says when it comes. */
  #pay(cost: number, nowUs: number): number {
    const { bucket, share } = this.#buckets;
    if (share === undefined) {
      const waitUs = bucket.waitUs(cost);
      if (waitUs === 0) bucket.charge(cost);
      return nowUs + waitUs;
    }
    // The head that it was taken for was cancelled.
    if (this.#claim !== undefined && this.#claim.cost !== cost) this.#returnClaim();
    if (this.#claim === undefined) {
      const waitUs = share.waitUs(cost);
      if (waitUs > 0) return nowUs + waitUs;
      this.#claim = { atUs: nowUs + bucket.waitUs(cost), cost };
      share.charge(cost);
      bucket.charge(cost);
    }
    const { atUs } = this.#claim;
    if (atUs <= nowUs) this.#claim = undefined;
    return atUs;
  }

  #returnClaim(): void {
    if (this.#claim === undefined) return;
    const { bucket, share } = this.#buckets;
    bucket.giveBack(this.#claim.cost, this.#claim.atUs);
    share?.giveBack(this.#claim.cost, this.#claim.atUs);
    this.#claim = undefined;
  }
}
