// Heals what crashes and other tools leave: places held by jobs that are gone, grants that nobody promoted, jobs
// that wait in BullMQ and in no line.
import type { JobState, Queue } from 'bullmq';
import { systemClock } from '../core/clock';
import { PARKED_MS } from './job-lane';
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
const MOST_PARKED = 1000;
/** Jobs without a line that are handed to the workers at a time, who put them into theirs. */
const MOST_STRAYS = 32;
/** BullMQ's score of a delayed job is its time in ms, times this. */
const SCORES_PER_MS = 0x1000;
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
  /** How far the walks through pending and through parked jobs have come. */
  readonly #walked = { pending: 0, parked: 0 };
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

  /** One pass over some of everything. */
  async pass(): Promise<void> {
    const { redis, names } = this.#options;
    const nowMs = await this.#nowMs();
    const settled = nowMs - this.#settledMs;
    const open = await redis.zrangebyscore(names.open, '-inf', settled, 'LIMIT', 0, MOST_OPEN);
    await Promise.all([
      this.#mendOpen(open, nowMs),
      this.freePlaces(undefined),
      this.#pickUpStrays(nowMs),
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
   * Frees the places of jobs that are gone: of a lane, or of some of the queue, at each call of others.
   * Returns whether there were some.
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
    const ids =
      lane === undefined
        ? await this.#walk('pending', names.pending, MOST_PENDING)
        : await redis.zrange(lane.keys[1], 0, -1);
    const gone = await this.#gone(ids);
    if (gone.length === 0) return 0;
    const nowMs = await this.#nowMs();
    const adding = await redis.zrangebyscore(names.adding, nowMs - this.#settledMs, '+inf');
    const onTheirWay = new Set(adding);
    return this.#drop(gone.filter((id) => !onTheirWay.has(id)));
  }

  /** The next members of a sorted set, from the start again after the last ones. */
  async #walk(which: 'pending' | 'parked', key: string, most: number): Promise<string[]> {
    const from = this.#walked[which];
    const ids = await this.#options.redis.zrange(key, from, from + most - 1);
    this.#walked[which] = ids.length < most ? 0 : from + most;
    return ids;
  }

  /** Jobs that wait in BullMQ without a place in a line: our keys were lost, or renamed. */
  async #pickUpStrays(nowMs: number): Promise<void> {
    const { redis, names, queue, promoter } = this.#options;
    const delayed = queue.toKey('delayed');
    const ids = await this.#walk('parked', delayed, MOST_PARKED);
    if (ids.length === 0) return;
    const records = await redis.hmget(names.jobs, ...ids);
    const strays = ids.filter((_, i) => records[i] === null).slice(0, MOST_STRAYS);
    const scores = await Promise.all(strays.map((id) => redis.zscore(delayed, id)));
    // One that is due sooner waits for its back-off, and needs no place yet.
    const parked = (nowMs + PARKED_MS / 2) * SCORES_PER_MS;
    strays.filter((_, i) => Number(scores[i]) > parked).forEach((id) => promoter.promoteOnce(id));
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

  /** Returns how many there were to drop. */
  async #drop(ids: readonly string[]): Promise<number> {
    for (let at = 0; at < ids.length; at += CHUNK) {
      const kept = await this.#kept(ids.slice(at, at + CHUNK));
      await Promise.all(
        kept.map(async ({ id, lane: token }) => {
          const lane = await this.#laneOf(token);
          if (lane !== undefined) await this.#options.pacing.drop(id, lane, false);
        }),
      );
    }
    return ids.length;
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
