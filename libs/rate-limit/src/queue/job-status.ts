// What a job does now, from the lanes first and from BullMQ where they do not know it.
import type { Queue } from 'bullmq';
import { RedisScript } from '../store/redis/redis-script';
import type { JobResults } from './job-results';
import type { Lane } from './lane';
import type { Lanes } from './lanes';
import * as scripts from './lua.generated';
import type { JobStatus } from './queue-face';
import type { QueueNames } from './queue-names';
import type { QueueRedis } from './queue-redis';

const LOOK = new RedisScript(scripts.look.lua);

/** What statuses are found with. */
export interface JobStatusesParts {
  readonly redis: QueueRedis;
  readonly names: QueueNames;
  readonly lanes: Lanes;
  readonly results: JobResults;
  readonly queue: Queue;
}

/** Finds what jobs do. */
export class JobStatuses {
  constructor(private readonly parts: JobStatusesParts) {}

  /** `undefined`: no job of this id is known. */
  async of(id: string): Promise<JobStatus | undefined> {
    const { redis, names, results, queue } = this.parts;
    const inLine = await this.#inLine(id);
    if (inLine !== undefined) return inLine;
    const ending = await results.ending(id);
    // Nothing is known of it anywhere: it may never have been.
    if (ending?.state === 'cancelled' && (await redis.exists(names.result(id))) === 0) {
      return undefined;
    }
    if (ending !== undefined) return ending;
    // Added by another tool, or on its way from one place to the other.
    return (
      (await this.#inLine(id)) ??
      ((await queue.getJobState(id)) === 'active' ? { state: 'active' } : { state: 'waiting' })
    );
  }

  /** @param entry the key of an idempotency entry */
  async isKnown(entry: string): Promise<boolean> {
    const { redis, names } = this.parts;
    const [id] = ((await redis.get(entry)) ?? '').split('|');
    if (id === '') return false;
    const [record] = await redis.hmget(names.jobs, id);
    return record !== null || (await redis.exists(names.result(id))) === 1;
  }

  async #inLine(id: string): Promise<JobStatus | undefined> {
    const lane = await this.#laneOf(id);
    if (lane === undefined) return undefined;
    const { redis } = this.parts;
    const [state, nowMs, waitUs, position] = (await LOOK.run(redis, lane.keys, [
      id,
      ...lane.bucket,
      ...(lane.share ?? (['', '', '', ''] as const)),
    ])) as [string, number, number, number];
    const startsInMs = Math.ceil(waitUs / 1000);
    switch (state) {
      case 'w':
      case 'g':
        return { state: 'waiting', startsAt: nowMs + startsInMs, startsInMs, position };
      case 'r':
        return { state: 'active' };
      case 'f':
        return { state: 'waiting' };
      case 'x':
        return { state: 'expired' };
      default:
        return undefined;
    }
  }

  async #laneOf(id: string): Promise<Lane | undefined> {
    const { redis, names, lanes } = this.parts;
    const [text] = await redis.hmget(names.jobs, id);
    // state|seq|cost|deadline|at|lane: see lua/lib/job_record.lua
    const token = text?.split('|').slice(5).join('|');
    if (token === undefined) return undefined;
    const [record] = await redis.hmget(names.lanes, token);
    return record === null ? undefined : lanes.fromRecord(token, record);
  }
}
