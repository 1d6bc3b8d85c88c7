// Heals what crashes and other tools leave: places held by jobs that are gone, grants that nobody promoted.
import type { JobState, Queue } from 'bullmq';
import { systemClock } from '../core/clock';
import type { Lane } from './lane';
import type { Lanes } from './lanes';
import type { Pacing } from './pacing';
import type { Promoter } from './promoter';
import type { QueueNames } from './queue-names';
import type { QueueRedis } from './queue-redis';

/** Between two passes of the process that paces. */
const EVERY_MS = 2000;
/** Younger entries are still on their way; longer than a submission may take. */
const SETTLED_MS = 2000;
const MOST_OPEN = 200;
const MOST_PENDING = 5000;
/** Jobs that one EXISTS asks for. */
const CHUNK = 1000;
/** A bound that was reached is looked through again after so many times what the last look took. */
const REST = 10;

/** A job's record, as far as it is looked at here; see `lua/lib/job_record.lua`. */
interface KeptJob {
  readonly id: string;
  readonly state: string;
  readonly lane: string;
}

/** A look through the places of a lane, or of the queue. */
interface Look {
  readonly freed: Promise<number>;
  /** When the next one may follow; not before this one has ended. */
  againAtMs: number;
}

/** What a reconciler works with. */
export interface ReconcilerOptions {
  readonly redis: QueueRedis;
  readonly names: QueueNames;
  readonly queue: Queue;
  readonly pacing: Pacing;
  readonly promoter: Promoter;
  readonly lanes: Lanes;
  /** The longest that a submission takes, in ms. */
  readonly timeoutMs: number;
  readonly onError: (error: unknown) => void;
}

/** Compares what the lanes hold with what BullMQ holds, some at a time, and mends the lanes. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #settledMs: number;
  readonly #looks = new Map<string, Look>();
  #timer: NodeJS.Timeout | undefined;
  #pass: Promise<void> = Promise.resolve();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#settledMs = Math.max(SETTLED_MS, options.timeoutMs + 1000);
  }

  /** @param leads whether this process paces: one that does is enough */
  start(leads: () => boolean): void {
    this.#timer = setInterval(() => {
      if (leads()) this.#pass = this.pass().catch(this.#options.onError);
    }, EVERY_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pass;
  }

  /** One pass over the entries that were not looked at for longest. */
  async pass(): Promise<void> {
    const { redis, names } = this.#options;
    const nowMs = await this.#nowMs();
    const settled = nowMs - this.#settledMs;
    const [open, pending] = await Promise.all([
      redis.zrangebyscore(names.open, '-inf', settled, 'LIMIT', 0, MOST_OPEN),
      redis.zrangebyscore(names.pending, '-inf', settled, 'LIMIT', 0, MOST_PENDING),
    ]);
    await Promise.all([
      this.#mendOpen(open, nowMs),
      this.#freePending(pending, nowMs),
      redis.zremrangebyscore(names.adding, '-inf', settled),
    ]);
  }

  /** Hands on what the process that paced before may have granted and not handed on. */
  async takeOver(): Promise<void> {
    const { redis, names, promoter } = this.#options;
    const kept = await this.#kept(await redis.zrange(names.open, -MOST_OPEN, -1));
    for (const { id, state } of kept) if (state === 'g' || state === 'x') promoter.promoteOnce(id);
  }

  /** Frees the places of all jobs that are gone. */
  async dropAllGone(): Promise<void> {
    const { redis, names } = this.#options;
    for (const index of [names.pending, names.open]) {
      await this.#drop(await this.#gone(await redis.zrange(index, 0, -1)));
    }
  }

  /**
   * Frees the places of jobs that are gone: of a lane, or of those in the queue that were not looked
   * at for longest. Returns whether there were some.
   */
  async freePlaces(lane: Lane | undefined): Promise<boolean> {
    const which = lane === undefined ? 'queue' : `lane ${lane.token}`;
    const last = this.#looks.get(which);
    if (last !== undefined && systemClock.monotonicMs() < last.againAtMs) {
      return (await last.freed) > 0;
    }
    const fromMs = systemClock.monotonicMs();
    const look: Look = { freed: this.#lookThrough(lane), againAtMs: Infinity };
    this.#looks.set(which, look);
    try {
      return (await look.freed) > 0;
    } finally {
      const nowMs = systemClock.monotonicMs();
      look.againAtMs = nowMs + REST * (nowMs - fromMs);
      setTimeout(
        () => this.#looks.get(which) === look && this.#looks.delete(which),
        Math.ceil(look.againAtMs - nowMs),
      ).unref();
    }
  }

  async #lookThrough(lane: Lane | undefined): Promise<number> {
    const { redis, names } = this.#options;
    const nowMs = await this.#nowMs();
    const ids =
      lane === undefined
        ? await redis.zrange(names.pending, 0, MOST_PENDING - 1)
        : await redis.zrange(lane.keys[1], 0, -1);
    return this.#freePending(ids, lane === undefined ? nowMs : undefined);
  }

  /** @param lookedAtMs is noted of those that stay; left out where the order of looks is another's */
  async #freePending(ids: readonly string[], lookedAtMs: number | undefined): Promise<number> {
    const { redis, names } = this.#options;
    if (ids.length === 0) return 0;
    const gone = await this.#gone(ids);
    const nowMs = await this.#nowMs();
    const onTheirWay =
      gone.length === 0
        ? []
        : await redis.zrangebyscore(names.adding, nowMs - this.#settledMs, '+inf');
    const free = gone.filter((id) => !onTheirWay.includes(id));
    await this.#drop(free);
    const freed = new Set(free);
    const left = ids.filter((id) => !freed.has(id));
    if (lookedAtMs !== undefined && left.length > 0) {
      await redis.zadd(names.pending, 'XX', ...left.flatMap((id) => [lookedAtMs, id]));
    }
    return free.length;
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

  /** Those that BullMQ does not have. */
  async #gone(ids: readonly string[]): Promise<string[]> {
    const { redis, queue } = this.#options;
    const gone: string[] = [];
    for (let at = 0; at < ids.length; at += CHUNK) {
      const chunk = ids.slice(at, at + CHUNK);
      const there = await redis.exists(...chunk.map((id) => queue.toKey(id)));
      if (there === chunk.length) continue;
      const each = await Promise.all(chunk.map((id) => redis.exists(queue.toKey(id))));
      gone.push(...chunk.filter((_, i) => each[i] === 0));
    }
    return gone;
  }

  async #drop(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += CHUNK) {
      const kept = await this.#kept(ids.slice(at, at + CHUNK));
      await Promise.all(
        kept.map(async ({ id, lane: token }) => {
          const lane = await this.#laneOf(token);
          if (lane !== undefined) await this.#options.pacing.drop(id, lane, false);
        }),
      );
    }
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

  /** By the server's clock. */
  async #nowMs(): Promise<number> {
    const [seconds, micros] = (await this.#options.redis.time()).map(Number);
    return seconds * 1000 + Math.floor(micros / 1000);
  }
}
