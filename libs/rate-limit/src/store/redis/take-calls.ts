// How charges reach Redis: alone while nothing is on its way, else together in one script call.
import { systemClock } from '../../core/clock';
import { US_PER_MS } from '../../core/duration';
import { StoreUnavailableError } from '../../core/errors';
import type { BucketCharge, Outcome } from '../rate-limit-store';
import type { RedisLike } from '../redis-like';
import * as scripts from './lua.generated';
import { RedisScript } from './redis-script';
import type { ServerClock } from './server-clock';
import { hashTag } from './slot-groups';
import { TakeBatch } from './take-batch';
import type { TimedOutcomes } from './take-in-turn';

/** Script calls on their way at once: with two or three, Redis works on one while we prepare the next. */
const MOST_IN_FLIGHT = 3;
/** Buckets of one script call: at most, that it holds Redis no longer than a millisecond; and at least, if so many wait. */
const MOST_TOGETHER = 128;
const LEAST_TOGETHER = 32;
/** Calls of one script call: those of one bucket cost Redis little each. */
const MOST_CALLS = 1024;
/**
 * The server gives up a little before the caller does: what it knows of our clock is right to within
 * a reply, and a charge that is made while the caller turns away would be a charge for nothing.
 */
const GIVE_UP_SHARE = 0.9;
/**
 * How long a script call that is on its way keeps others waiting. Waiting for a reply gathers calls while Redis is what
 * is scarce; where the way is long, or a reply never comes, it would only make them late.
 */
const HOLD_MS = 5;

const TAKE_SCRIPT = new RedisScript(scripts.take.lua);
const TAKE_MANY_SCRIPT = new RedisScript(scripts.takeMany.lua);

// Test tools replace `process.nextTick`; what leaves for Redis is no business of a fake clock.
const nextTick = process.nextTick.bind(process);

interface Call {
  readonly charges: readonly BucketCharge[];
  readonly askedMs: number;
  /** The time of a test at that moment; '' = the server's clock. */
  readonly given: number | '';
  readonly resolve: (outcomes: Outcome[], clockUs: number) => void;
  readonly reject: (error: unknown) => void;
  /** Our idea of the server's clock was wrong, and is right now. */
  again?: boolean;
}

/** What {@link TakeCalls} needs. */
export interface TakeCallsOptions {
  readonly client: RedisLike;
  readonly serverClock: ServerClock;
  readonly giveUpAfterMs?: number;
  /** The time for the scripts, in µs; '' = the server's. */
  readonly givenUs: () => number | '';
}

/**
 * The calls of one store. A lone one leaves at the end of the tick in a small script of its own. What is asked while
 * calls are on their way waits for the next reply and leaves together; each keeps its deadline and its fate.
 */
export class TakeCalls {
  readonly #options: TakeCallsOptions;
  #waiting: Call[] = [];
  /** Those on their way that keep others waiting, the oldest first. */
  readonly #flights = new Set<{ readonly sentMs: number }>();
  #leaving = false;
  #hold: NodeJS.Timeout | undefined;

  constructor(options: TakeCallsOptions) {
    this.#options = options;
  }

  take(charges: readonly BucketCharge[]): Promise<Outcome[]> {
    return new Promise((resolve, reject) => {
      const askedMs = systemClock.monotonicMs();
      this.#add({ charges, askedMs, given: this.#options.givenUs(), resolve, reject });
    });
  }

  /** The same for a part of a call that was asked at `askedMs`, with the server's time. */
  takePart(charges: readonly BucketCharge[], askedMs: number): Promise<TimedOutcomes> {
    return new Promise((done, reject) => {
      const resolve = (outcomes: Outcome[], clockUs: number) => done({ outcomes, clockUs });
      this.#add({ charges, askedMs, given: this.#options.givenUs(), resolve, reject });
    });
  }

  #add(call: Call): void {
    this.#waiting.push(call);
    if (this.#leaving) return;
    this.#leaving = true;
    nextTick(() => this.#leave());
  }

  #leave(): void {
    this.#leaving = false;
    if (this.#waiting.length === 0) return;
    const nowMs = systemClock.monotonicMs();
    if (this.#options.client.isCluster === true) {
      // Only what lives in one slot can go together; the client puts the rest on the wire one after another.
      const bySlot = new Map<string, Call[]>();
      for (const call of this.#waiting) {
        const slot = hashTag(call.charges[0].bucket);
        const calls = bySlot.get(slot);
        if (calls === undefined) bySlot.set(slot, [call]);
        else calls.push(call);
      }
      this.#waiting = [];
      for (let calls of bySlot.values()) {
        while (calls.length > 0) calls = this.#send(calls, MOST_TOGETHER, nowMs);
      }
      return;
    }
    for (const flight of this.#flights) {
      if (nowMs - flight.sentMs < HOLD_MS) break;
      this.#flights.delete(flight);
    }
    while (this.#waiting.length > 0 && this.#flights.size < MOST_IN_FLIGHT) {
      const share = Math.ceil(this.#waiting.length / (MOST_IN_FLIGHT - this.#flights.size));
      const most = Math.min(MOST_TOGETHER, Math.max(LEAST_TOGETHER, share));
      this.#waiting = this.#send(this.#waiting, most, nowMs);
    }
    if (this.#waiting.length > 0 && this.#hold === undefined) {
      this.#hold = setTimeout(() => this.#held(), HOLD_MS).unref();
    }
  }

  #held(): void {
    this.#hold = undefined;
    this.#leave();
  }

  /** Sends the oldest of `waiting` that can go together. Returns the rest. */
  #send(waiting: readonly Call[], most: number, nowMs: number): Call[] {
    const batch = new TakeBatch();
    const calls: Call[] = [];
    const rest: Call[] = [];
    let at = 0;
    for (; at < waiting.length && batch.size < most && calls.length < MOST_CALLS; at++) {
      const call = waiting[at];
      if (this.#isLate(call.askedMs, nowMs)) call.reject(tooLate());
      else if (call.given === (calls[0] ?? call).given && batch.add(call.charges)) calls.push(call);
      else rest.push(call);
    }
    if (calls.length > 0) this.#fly(batch, calls, nowMs);
    for (; at < waiting.length; at++) rest.push(waiting[at]);
    return rest;
  }

  #fly(batch: TakeBatch, calls: readonly Call[], nowMs: number): void {
    const flight = { sentMs: nowMs };
    this.#flights.add(flight);
    const { client, serverClock } = this.#options;
    const head = [this.#giveUpAt(calls[0].askedMs), calls[0].given];
    const sent =
      calls.length === 1
        ? TAKE_SCRIPT.run(client, batch.keys, [...head, ...batch.lone])
        : TAKE_MANY_SCRIPT.run(client, batch.keys, [...head, ...batch.args]);
    void sent
      .then((answer) => {
        const reply = answer as unknown[];
        const serverMs = Math.floor(Number(reply[0]) / US_PER_MS);
        serverClock.read(serverMs, nowMs, systemClock.monotonicMs());
        if (reply.length === 1) for (const call of calls) this.#late(call);
        else {
          const clockUs = Number(reply[0]);
          batch.outcomes(reply).forEach((outcomes, i) => calls[i].resolve(outcomes, clockUs));
        }
      })
      .catch((error: unknown) => {
        for (const call of calls) call.reject(error);
      })
      .finally(() => {
        this.#flights.delete(flight);
        this.#leave();
      });
  }

  /**
   * Nothing was charged: either we were too late, or our idea of the server's clock was wrong. The reply has set it
   * right, so asking once more tells.
   */
  #late(call: Call): void {
    if (call.again === true || this.#isLate(call.askedMs, systemClock.monotonicMs())) {
      call.reject(tooLate());
    } else {
      this.#add({ ...call, again: true });
    }
  }

  #isLate(askedMs: number, nowMs: number): boolean {
    const { giveUpAfterMs = Infinity } = this.#options;
    return nowMs - askedMs >= giveUpAfterMs;
  }

  /** Server time after which nobody waits for what was asked at `askedMs`. */
  #giveUpAt(askedMs: number): number | '' {
    const { giveUpAfterMs, serverClock, givenUs } = this.#options;
    if (giveUpAfterMs === undefined || givenUs() !== '') return '';
    return Math.ceil(serverClock.at(askedMs + giveUpAfterMs * GIVE_UP_SHARE));
  }
}

function tooLate(): StoreUnavailableError {
  return new StoreUnavailableError('Redis answered after the deadline; nothing was charged');
}
