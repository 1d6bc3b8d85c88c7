// The jobs of a queue by their ids and idempotency keys, until their results are forgotten.
import type { Clock } from '../../core/clock';
import type { InProcessLane, KeptJob } from './in-process-lane';

/** What is kept of jobs. */
export class InProcessJobs {
  readonly #jobs = new Map<string, KeptJob>();
  readonly #byIdempotencyKey = new Map<string, { readonly id: string; readonly payload: string }>();

  constructor(private readonly clock: Clock) {}

  get all(): KeptJob[] {
    return [...this.#jobs.values()];
  }

  /** @param payload JSON */
  add(job: KeptJob, idempotencyKey: string | undefined, payload: string): void {
    this.#jobs.set(job.id, job);
    if (idempotencyKey === undefined) return;
    this.#byIdempotencyKey.set(entry(job.lane, idempotencyKey), { id: job.id, payload });
  }

  /** `undefined` for one that is not known, or was forgotten. */
  find(id: string): KeptJob | undefined {
    const job = this.#jobs.get(id);
    if (job === undefined || job.forgetAtMs > this.clock.nowMs()) return job;
    this.#jobs.delete(id);
    return undefined;
  }

  /** The job that was submitted to the line under this idempotency key, and its payload. */
  known(
    lane: InProcessLane,
    idempotencyKey: string | undefined,
  ): { readonly job: KeptJob; readonly payload: string } | undefined {
    const kept =
      idempotencyKey === undefined
        ? undefined
        : this.#byIdempotencyKey.get(entry(lane, idempotencyKey));
    const job = kept && this.find(kept.id);
    return kept && job && { job, payload: kept.payload };
  }

  /** How many are in one of the states, or ended so. */
  count(...states: string[]): number {
    return this.all.filter(
      ({ id, state, ending }) =>
        states.includes(ending?.state ?? state) && this.find(id) !== undefined,
    ).length;
  }

  delete(id: string): void {
    this.#jobs.delete(id);
  }
}

function entry({ token }: InProcessLane, idempotencyKey: string): string {
  return JSON.stringify([token, idempotencyKey]);
}
