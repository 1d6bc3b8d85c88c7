// The scripts of a queue, typed. Knows Redis and nothing of BullMQ; the decisions are in lua/*.lua.
import { RedisScript } from '../store/redis/redis-script';
import type { RedisLike } from '../store/redis-like';
import type { Lane } from './lane';
import * as scripts from './lua.generated';
import type { QueueNames } from './queue-names';
import { SeenLevels } from './seen-levels';

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
  readonly idempotency: { readonly entry: string; readonly digest: string } | undefined;
}

/** The answer to a submission. Times are the server's. */
export type Submitted =
  | {
      readonly kind: 'accepted';
      readonly id: string;
      readonly nowMs: number;
      readonly waitUs: number;
      readonly position: number;
      readonly atOnce: boolean;
      readonly known: boolean;
    }
  | { readonly kind: 'lane-full' | 'queue-full' | 'too-late'; readonly waitUs: number }
  | { readonly kind: 'conflict' };

/** What a job that was picked up is to do. */
export type Verdict =
  | { readonly kind: 'run'; readonly afterUs: number }
  | { readonly kind: 'later'; readonly deadlineInMs: number }
  | { readonly kind: 'expired' }
  /** Its submission failed after BullMQ had been told. */
  | { readonly kind: 'never-accepted' };

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

/** One queue's scripts on one connection. */
export class Pacing {
  readonly #client: RedisLike;
  readonly #names: QueueNames;
  readonly #seen = new SeenLevels();

  constructor(client: RedisLike, names: QueueNames) {
    this.#client = client;
    this.#names = names;
  }

  async submit(
    { id, lane, cost, maxWaitMs, idempotency }: Submission,
    bounds: { readonly maxQueue: number; readonly maxQueueTotal: number; readonly lifeMs: number },
  ): Promise<Submitted> {
    const entry = idempotency?.entry ?? this.#names.meta;
    const [status, nowMs, waitUs, position, knownId] = (await SUBMIT.run(
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
        bounds.lifeMs,
        lane.record,
        lane.mostGranted,
        ...paying(lane),
      ],
    )) as [number, number, number, number, string?];
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
      atOnce: status === 1,
      known,
    };
  }

  /** Renews, takes or asks for the lease. @param leaseMs 0 gives it up */
  async tick(
    worker: string,
    leaseMs: number,
    mostLanes: number,
    concurrency: number,
  ): Promise<{ nowUs: number; leads: boolean; concurrency: number; due: Due[] }> {
    const { lease, next, lanes, workers } = this.#names;
    const [nowUs, leads, total, ...rest] = (await TICK.run(
      this.#client,
      [lease, next, lanes, workers],
      [worker, leaseMs, mostLanes, concurrency],
    )) as [number, number, number, ...(string | number)[]];
    const due: Due[] = [];
    for (let i = 0; i < rest.length; i += 3) {
      due.push({
        lane: rest[i] as string,
        atUs: Number(rest[i + 1]),
        record: rest[i + 2] as string,
      });
    }
    return { nowUs, leads: leads === 1, concurrency: total, due };
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
    const [nowUs, lookUs, credits, atUs, ...ids] = (await GRANT.run(this.#client, lane.keys, [
      lane.token,
      lane.mostGranted,
      mostInFlight,
      lookAheadUs,
      most,
      ...this.#seen.of(lane),
      ...paying(lane),
    ])) as [number, number, number, number, ...string[]];
    this.#seen.saw(lane, credits, atUs);
    return { nowUs, lookUs, ids };
  }

  /** @param firstPickUp it was submitted here and was never picked up before */
  async start(
    id: string,
    lane: Lane,
    cost: number,
    mostRunning: number,
    firstPickUp: boolean,
  ): Promise<Verdict> {
    const [verdict, , value, credits, atUs] = (await START.run(this.#client, lane.keys, [
      id,
      lane.token,
      cost,
      mostRunning,
      this.#names.wake,
      lane.record,
      ...this.#seen.of(lane),
      ...paying(lane),
      firstPickUp ? '1' : '',
    ])) as [number, number, number, number, number];
    this.#seen.saw(lane, credits, atUs);
    if (verdict === 1) return { kind: 'run', afterUs: value };
    if (verdict === 0) return { kind: 'later', deadlineInMs: value };
    return { kind: verdict === 2 ? 'expired' : 'never-accepted' };
  }

  /** An attempt ended. @param retry another one may follow */
  async finish(id: string, lane: Lane, retry: boolean, ending: Ending = NO_ENDING): Promise<void> {
    await FINISH.run(
      this.#client,
      [...lane.keys, this.#names.result(id)],
      [
        id,
        lane.token,
        this.#names.wake,
        retry ? 'retry' : 'end',
        ending.result,
        ending.ttlMs,
        this.#names.ended,
      ],
    );
  }

  /** Takes a job that has not started out of its line. @param running also one that is said to run */
  async drop(
    id: string,
    lane: Lane,
    running: boolean,
    ending: Ending = NO_ENDING,
  ): Promise<boolean> {
    const dropped = await DROP.run(
      this.#client,
      [...lane.keys, this.#names.result(id)],
      [
        id,
        lane.token,
        this.#names.wake,
        running ? '1' : '',
        ending.result,
        ending.ttlMs,
        this.#names.ended,
        ...paying(lane),
      ],
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
