// Pure: the names of a queue's keys and channels in Redis. All carry one hash tag, so they share a slot.

/** Names what a queue keeps in Redis beside BullMQ's own keys. */
export class QueueNames {
  readonly #base: string;
  /** Jobs that wait, all lanes, by their deadline. */
  readonly pending: string;
  /** Jobs that are on their way or run, by when they were last looked at. */
  readonly open: string;
  /**
   * Accepted jobs whose submitter has not said that BullMQ has them, by when (ms) it may have given up; negative:
   * since when somebody who would start it waits for that word.
   */
  readonly adding: string;
  readonly jobs: string;
  readonly next: string;
  readonly lanes: string;
  readonly meta: string;
  readonly lease: string;
  readonly workers: string;
  /** Channel: a lane has something to do. */
  readonly wake: string;
  /** Channel: a job ended; the message is its id. */
  readonly ended: string;

  constructor(keyPrefix: string, queue: string) {
    this.#base = `${keyPrefix}:{queue:${queue}}`;
    this.pending = `${this.#base}:pending`;
    this.open = `${this.#base}:open`;
    this.adding = `${this.#base}:adding`;
    this.jobs = `${this.#base}:jobs`;
    this.next = `${this.#base}:next`;
    this.lanes = `${this.#base}:lanes`;
    this.meta = `${this.#base}:meta`;
    this.lease = `${this.#base}:lease`;
    this.workers = `${this.#base}:workers`;
    this.wake = `${this.#base}:wake`;
    this.ended = `${this.#base}:ended`;
  }

  /**
   * KEYS of a lane's scripts, in the order of `lua/lib/lane_keys.lua`.
   * @param bucket the bucket it shares with direct callers; left out, the lane has its own
   */
  laneKeys(token: string, bucket: string | undefined): string[] {
    const own = `${this.#base}:bucket:${token}`;
    return [
      `${this.#base}:lane:${token}`,
      `${this.#base}:wait:${token}`,
      this.jobs,
      this.next,
      this.pending,
      this.open,
      this.lanes,
      this.meta,
      bucket ?? own,
      `${this.#base}:share:${token}`,
      this.adding,
    ];
  }

  result(id: string): string {
    return `${this.#base}:result:${id}`;
  }

  idempotency(digest: string): string {
    return `${this.#base}:idempotency:${digest}`;
  }
}
