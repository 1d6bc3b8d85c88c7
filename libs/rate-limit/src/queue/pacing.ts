// The scripts of a queue, typed. Knows Redis and nothing of BullMQ; the decisions are in lua/*.lua.
import { RedisScript } from '../store/redis/redis-script';
import type { Lane } from './lane';
import * as scripts from './lua.generated';
import type { QueueNames } from './queue-names';
import type { QueueBounds } from './queue-face';
import type { QueueRedis } from './queue-redis';
import type { Submitted } from './refusal';

const SUBMIT = new RedisScript(scripts.submit.lua);
const TICK = new RedisScript(scripts.tick.lua);
const GRANT = new RedisScript(scripts.grant.lua);
const START = new RedisScript(scripts.start.lua);
const FINISH = new RedisScript(scripts.finish.lua);
const DROP = new RedisScript(scripts.drop.lua);
const PAUSE = new RedisScript(scripts.pause.lua);

/** A job that asks to be accepted. */
export interface Submission {
  readonly id: string;
  readonly lane: Lane;
  /** Thousandths of a token. */
  readonly cost: number;
  readonly maxWaitMs: number;
  /** How long after this its submitter surely waits for BullMQ, and then says that it has the job. */
  readonly surelyWaitsMs: number;
  readonly idempotency: { readonly entry: string; readonly digest: string } | undefined;
}

/** What a job that was picked up is to do. */
export type Verdict =
  | { readonly kind: 'run'; readonly afterUs: number }
  | { readonly kind: 'later' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'cancelled' }
  /** Its submitter may be about to take it back. */
  | { readonly kind: 'unsure' };

/** A lane that the pacer is to look at. */
export interface Due {
  readonly lane: string;
  readonly atUs: number;
  readonly record: string;
}

/** What is kept of an ended job for whoever waits for it. */
export interface Ending {
  /** JSON, or '' for none. */
  readonly result: string;
  readonly ttlMs: number;
}

const NO_ENDING: Ending = { result: '', ttlMs: 1 };
/** What the kept ending of a cancelled job starts with; see `ending.ts`. */
const CANCELLED = '{"state":"cancelled"';

/** One queue's scripts on one connection. */
export class Pacing {
  readonly #client: QueueRedis;
  readonly #names: QueueNames;
  /** When the queue's keys came into being, as far as this process knows; see `lua/tick.lua`. */
  #epoch = '';

  constructor(client: QueueRedis, names: QueueNames) {
    this.#client = client;
    this.#names = names;
  }

  async submit(
    { id, lane, cost, maxWaitMs, surelyWaitsMs, idempotency }: Submission,
    bounds: Pick<QueueBounds, 'maxQueue' | 'maxQueueTotal' | 'resultTtlMs'>,
  ): Promise<Submitted> {
    const entry = idempotency?.entry ?? this.#names.meta;
    const [status, nowMs, waitUs, position, knownId, unstarted] = (await SUBMIT.run(
      this.#client,
      [...lane.keys, entry],
      [
        id,
        lane.token,
        cost,
        maxWaitMs,
        bounds.maxQueue,
        bounds.maxQueueTotal,
        this.#names.wake,
        idempotency?.digest ?? '',
        // Until its result is forgotten, if it starts as late as it may.
        maxWaitMs + bounds.resultTtlMs,
        lane.record,
        lane.mostGranted,
        this.#names.result(''),
        ...paying(lane),
        surelyWaitsMs,
      ],
    )) as [number, number, number, number, string?, number?];
    if (status === 2) return { kind: 'lane-full', waitUs };
    if (status === 3) return { kind: 'queue-full', waitUs };
    if (status === 4) return { kind: 'too-late', waitUs };
    if (status === 6) return { kind: 'conflict' };
    const known = status === 5;
    return {
      kind: 'accepted',
      id: known ? (knownId as string) : id,
      nowMs,
      waitUs,
      position,
      // A known one was let start at once when it waits no longer and has not started.
      atOnce: status === 1 || (unstarted === 1 && position === 0),
      known,
      unstarted: unstarted === 1,
    };
  }

  /** Renews, takes or asks for the lease. @param leaseMs 0 gives it up */
  async tick(
    worker: string,
    leaseMs: number,
    mostLanes: number,
    concurrency: number,
    mostLate = 0,
  ): Promise<{
    nowUs: number;
    leads: boolean;
    /** It did not lead before. */
    leadsNow: boolean;
    concurrency: number;
    /** Jobs whose deadline has passed. */
    late: string[];
    due: Due[];
  }> {
    const names = this.#names;
    const [nowUs, leads, total, epoch, lates, ...rest] = (await TICK.run(
      this.#client,
      [names.lease, names.next, names.lanes, names.workers, names.meta, names.pending],
      [worker, leaseMs, mostLanes, concurrency, this.#epoch, names.wake, mostLate],
    )) as [number, number, number, string, number, ...(string | number)[]];
    this.#epoch = epoch;
    const due: Due[] = [];
    for (let i = lates; i < rest.length; i += 3) {
      due.push({
        lane: rest[i] as string,
        atUs: Number(rest[i + 1]),
        record: rest[i + 2] as string,
      });
    }
    const late = rest.slice(0, lates) as string[];
    return { nowUs, leads: leads > 0, leadsNow: leads === 2, concurrency: total, late, due };
  }

  /** Pays for the heads of a lane. Returns whose turn it is, and when to look again (0 = nobody waits). */
  async grant(
    lane: Lane,
    {
      mostInFlight,
      lookAheadUs,
      most,
    }: { mostInFlight: number; lookAheadUs: number; most: number },
  ): Promise<{ nowUs: number; lookUs: number; ids: string[] }> {
    const [nowUs, lookUs, ...ids] = (await GRANT.run(this.#client, lane.keys, [
      lane.token,
      lane.mostGranted,
      mostInFlight,
      lookAheadUs,
      most,
      ...paying(lane),
    ])) as [number, number, ...string[]];
    return { nowUs, lookUs, ids };
  }

  /** Looks at a lane later than planned. */
  async putOff(lane: string, atUs: number): Promise<void> {
    await this.#client.zadd(this.#names.next, 'XX', atUs, lane);
  }

  /** Asks whether a job that was picked up may run; it has paid when it may. */
  async start(id: string, lane: Lane, cost: number, mostRunning: number): Promise<Verdict> {
    const [verdict, , value] = (await START.run(
      this.#client,
      [...lane.keys, this.#names.result(id)],
      [
        id,
        lane.token,
        cost,
        mostRunning,
        this.#names.wake,
        lane.record,
        CANCELLED,
        ...paying(lane),
      ],
    )) as [number, number, number];
    if (verdict === 1) return { kind: 'run', afterUs: value };
    if (verdict === 0) return { kind: 'later' };
    if (verdict === 4) return { kind: 'unsure' };
    return { kind: verdict === 2 ? 'expired' : 'cancelled' };
  }

  /** An attempt ended. @param retry another one may follow */
  async finish(id: string, lane: Lane, retry: boolean, ending: Ending = NO_ENDING): Promise<void> {
    await FINISH.run(
      this.#client,
      [...lane.keys, this.#names.result(id)],
      [id, lane.token, this.#names.wake, retry ? 'retry' : 'end', ending.result, ending.ttlMs],
    );
  }

  /** Tells whoever waits for a job that it ended. */
  async tellEnded(id: string): Promise<void> {
    await this.#client.publish(this.#names.ended, id);
  }

  /** Takes a job that has not started out of its line. @param running also one that is said to run */
  drop(id: string, lane: Lane, running: boolean, ending: Ending = NO_ENDING): Promise<boolean> {
    return this.#drop(id, lane, running, ending);
  }

  /** Takes back a submission that failed: its job will not start, wherever it got to. */
  async withdraw({ id, lane, idempotency }: Submission, ending: Ending): Promise<void> {
    const failed = idempotency === undefined ? 'failed' : 'key';
    await this.#drop(id, lane, false, ending, failed, idempotency?.entry);
  }

  async #drop(
    id: string,
    lane: Lane,
    running: boolean,
    { result, ttlMs }: Ending,
    failed: '' | 'failed' | 'key' = '',
    entry = this.#names.meta,
  ): Promise<boolean> {
    const { wake, ended } = this.#names;
    const dropped = await DROP.run(
      this.#client,
      [...lane.keys, this.#names.result(id), entry],
      [id, lane.token, wake, running ? '1' : '', result, ttlMs, ended, failed, ...paying(lane)],
    );
    return dropped === 1;
  }

  /** Pauses a lane. @param id a running job of it that goes back to its place in the line */
  async pause(lane: Lane, ms: number, id = ''): Promise<void> {
    await PAUSE.run(this.#client, lane.keys, [lane.token, ms, this.#names.wake, id, lane.record]);
  }
}

/** The buckets of a lane as ARGV: four numbers each. */
function paying({ bucket, share }: Lane): (number | '')[] {
  return [...bucket, ...(share ?? (['', '', '', ''] as const))];
}
