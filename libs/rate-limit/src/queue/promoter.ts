// Hands granted jobs to the workers: BullMQ holds them as delayed until their deadline.
import { Job, type Queue } from 'bullmq';

/** Waits between tries, in ms: a job that was just submitted may not have reached BullMQ yet. */
const RETRIES_MS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Promotes jobs. A job that cannot be promoted is left to the reconciler. */
export class Promoter {
  readonly #timers = new Set<NodeJS.Timeout>();
  #closed = false;

  constructor(private readonly queue: Queue) {}

  /** Makes a job ready for the next free worker, now or as soon as BullMQ has it. Never throws. */
  promote(id: string, tries = 0): void {
    this.#promoted(id).catch(() => {
      if (this.#closed || tries >= RETRIES_MS.length) return;
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.promote(id, tries + 1);
      }, RETRIES_MS[tries]).unref();
      this.#timers.add(timer);
    });
  }

  /** The same for a job that may well be on its way already. */
  promoteOnce(id: string): void {
    this.#promoted(id).catch(() => undefined);
  }

  #promoted(id: string): Promise<void> {
    // A job object of this id alone: promotion needs nothing else of it, so nothing is fetched.
    return new Job(this.queue, '', {}, {}, id).promote();
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
