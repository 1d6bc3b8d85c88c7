// Heals what crashes and other tools leave: places held by jobs that are gone, grants that nobody promoted.
import type { JobState, Queue } from 'bullmq';
import type { Lane } from './lane';
import type { Lanes } from './lanes';
import type { Pacing } from './pacing';
import type { Promoter } from './promoter';
import type { QueueNames } from './queue-names';
import type { QueueRedis } from './queue-redis';

/** Between two passes of the process that paces. */
const EVERY_MS = 2000;
/** Younger entries are still on their way. */
const SETTLED_MS = 2000;
const MOST_OPEN = 200;
const MOST_PENDING = 5000;
/** A bound that was reached has its places looked through at most this often. */
const LANE_EVERY_MS = 250;

/** A job's record, as far as it is looked at here; see `lua/lib/job_record.lua`. */
interface KeptJob {
  readonly id: string;
  readonly state: string;
  readonly lane: string;
}

/** What a reconciler works with. */
export interface ReconcilerOptions {
  readonly redis: QueueRedis;
  readonly names: QueueNames;
  readonly queue: Queue;
  readonly pacing: Pacing;
  readonly promoter: Promoter;
  readonly lanes: Lanes;
  readonly onError: (error: unknown) => void;
}

/** Compares what the lanes hold with what BullMQ holds, some at a time, and mends the lanes. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #lanes = new Map<string, Promise<number>>();
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> = Promise.resolve();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#pass = this.pass().catch(this.#options.onError);
    }, EVERY_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pass;
  }

  /** One pass over the entries that were not looked at for longest. */
  async pass(): Promise<void> {
    const { redis, names } = this.#options;
    const [seconds, micros] = (await redis.time()).map(Number);
    const nowMs = seconds * 1000 + Math.floor(micros / 1000);
    const settled = nowMs - SETTLED_MS;
    const [open, pending] = await Promise.all([
      redis.zrangebyscore(names.open, '-inf', settled, 'LIMIT', 0, MOST_OPEN),
      redis.zrangebyscore(names.pending, '-inf', settled, 'LIMIT', 0, MOST_PENDING),
    ]);
    await Promise.all([this.#mendOpen(open, nowMs), this.#dropGone(pending, nowMs)]);
  }

  /** Frees the places of all jobs that are gone. */
  async dropAllGone(): Promise<void> {
    const { redis, names } = this.#options;
    await this.#dropGone(await redis.zrange(names.pending, 0, -1), undefined);
  }

  /** Frees the places of a lane whose jobs are gone; returns how many there were. */
  freePlaces(lane: Lane): Promise<number> {
    const running = this.#lanes.get(lane.token);
    if (running !== undefined) return running;
    const pass = this.#options.redis
      .zrange(lane.keys[1], 0, -1)
      .then((ids) => this.#dropGone(ids, undefined))
      .finally(() => {
        setTimeout(() => this.#lanes.delete(lane.token), LANE_EVERY_MS).unref();
      });
    this.#lanes.set(lane.token, pass);
    return pass;
  }

  async #mendOpen(ids: readonly string[], nowMs: number): Promise<void> {
    const { redis, names, queue } = this.#options;
    if (ids.length === 0) return;
    const jobs = await this.#kept(ids);
    await Promise.all(jobs.map(async (job) => this.#mend(job, await queue.getJobState(job.id))));
    await redis.zadd(names.open, 'XX', ...ids.flatMap((id) => [nowMs, id]));
  }

  async #mend({ id, state, lane: token }: KeptJob, bull: JobState | 'unknown'): Promise<void> {
    const { pacing, promoter } = this.#options;
    const lane = await this.#laneOf(token);
    if (lane === undefined) return;
    if (bull === 'unknown' || bull === 'completed' || bull === 'failed') {
      await pacing.drop(id, lane, true);
    } else if (bull === 'delayed' && (state === 'g' || state === 'x')) {
      promoter.promote(id);
    } else if (state === 'r' && bull !== 'active') {
      // Its worker died; it pays again when it is picked up.
      await pacing.finish(id, lane, true);
    }
  }

  /** @param nowMs when the entries were looked at; left out where that does not matter */
  async #dropGone(ids: readonly string[], nowMs: number | undefined): Promise<number> {
    const { redis, names, queue, pacing } = this.#options;
    if (ids.length === 0) return 0;
    const there = await Promise.all(ids.map((id) => redis.exists(queue.toKey(id))));
    const gone = await this.#kept(ids.filter((_, i) => there[i] === 0));
    await Promise.all(
      gone.map(async ({ id, lane: token }) => {
        const lane = await this.#laneOf(token);
        if (lane !== undefined) await pacing.drop(id, lane, false);
      }),
    );
    const left = ids.filter((_, i) => there[i] === 1);
    if (nowMs !== undefined && left.length > 0) {
      await redis.zadd(names.pending, 'XX', ...left.flatMap((id) => [nowMs, id]));
    }
    return gone.length;
  }

  async #laneOf(token: string): Promise<Lane | undefined> {
    const { redis, names, lanes } = this.#options;
    const [record] = await redis.hmget(names.lanes, token);
    return record === null ? undefined : lanes.fromRecord(token, record);
  }

  async #kept(ids: readonly string[]): Promise<KeptJob[]> {
    if (ids.length === 0) return [];
    const records = await this.#options.redis.hmget(this.#options.names.jobs, ...ids);
    return ids.flatMap((id, i) => {
      const [state, , , , , ...lane] = records[i]?.split('|') ?? [];
      return state === undefined ? [] : [{ id, state, lane: lane.join('|') }];
    });
  }
}
