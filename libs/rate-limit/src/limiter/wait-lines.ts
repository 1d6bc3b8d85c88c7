// Callers that wait for their turn: one line a bucket in this process, first come, first served. Only the head of a
// line asks the store; the others cost nothing meanwhile.
import type { Scheduler } from '../core/clock';
import type { Decision } from '../core/decision';
import { WarmUp } from '../core/warm-up';
import { LimiterClosedError, TooManyWaitersError, WaitTooLongError } from '../core/errors';
import { ratePerSecond } from '../core/limit';
import { MS_PER_SECOND } from '../core/duration';
import { onAbort } from './aborts';
import { limitBehind, type PreparedCharge } from './charge';
import type { Hold } from './hold';
import { sleep } from './sleep';

/** A decision that was waited for. */
export interface Acquired extends Decision {
  /** Milliseconds between the call and its turn; may be a fraction. */
  readonly waitedMs: number;
}

/** Callers of this process that wait at once, over all keys. */
const MOST_WAITERS = 10_000;
const MOST_WARM_UPS = 10_000;

interface Waiter {
  readonly charge: PreparedCharge;
  readonly warmUpMs: number | undefined;
  readonly joinedMs: number;
  readonly timeoutMs: number;
  /** Ends its wait early: its caller's signal, and the closing of the limiter. */
  readonly ends: AbortController;
  readonly resolve: (acquired: Acquired) => void;
  readonly reject: (reason: unknown) => void;
}

/** A head whose turn is known: who is behind starts no sooner than this allows. */
interface KnownTurn {
  readonly atMs: number;
  /** Tokens that may be there at that moment for those behind; a bound from above. */
  readonly left: number;
  readonly tokensPerMs: number;
}

interface Line {
  waiters: Waiter[];
  turn: KnownTurn | undefined;
}

/** Charges for the earliest moment within `maxWaitMs`. */
export type TakeHold = (charge: PreparedCharge, maxWaitMs: number) => Hold | Promise<Hold>;

/** The lines of a limiter. */
export class WaitLines {
  readonly #lines = new Map<string, Line>();
  /** How warm this process' calls have made what is behind them, by bucket; the longest unused goes first. */
  readonly #warmUps = new Map<string, WarmUp>();
  #waiting = 0;

  constructor(
    private readonly hold: TakeHold,
    private readonly clock: Scheduler,
  ) {}

  /** Joins the line of the charge's bucket. See `RateLimiter.acquire`. */
  wait(
    charge: PreparedCharge,
    timeoutMs: number,
    signal?: AbortSignal,
    warmUpMs?: number,
  ): Promise<Acquired> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    if (this.#waiting >= MOST_WAITERS) {
      return Promise.reject(
        new TooManyWaitersError(
          `${MOST_WAITERS} callers wait for their turn in this process already`,
        ),
      );
    }
    const bucket = charge.scoped.place.bucket(charge.key);
    return new Promise((resolve, reject) => {
      const ends = new AbortController();
      const stopListening = onAbort(signal, (reason) => ends.abort(reason));
      this.#waiting++;
      const leave = () => {
        stopListening();
        this.#waiting--;
      };
      this.#join(bucket, {
        charge,
        warmUpMs,
        joinedMs: this.clock.monotonicMs(),
        timeoutMs,
        ends,
        resolve: (acquired) => {
          leave();
          resolve(acquired);
        },
        reject: (reason) => {
          leave();
          reject(reason as Error);
        },
      });
    });
  }

  /** Ends all waits. */
  close(): void {
    const reason = new LimiterClosedError('the rate limiter is closed');
    for (const { waiters } of this.#lines.values()) {
      for (const { ends } of [...waiters]) ends.abort(reason);
    }
  }

  #join(bucket: string, waiter: Waiter): void {
    const line = this.#lines.get(bucket);
    if (line === undefined) {
      const begun: Line = { waiters: [waiter], turn: undefined };
      this.#lines.set(bucket, begun);
      void this.#serve(bucket, begun);
      return;
    }
    line.waiters.push(waiter);
    // Behind the head, nothing was charged for it yet: it just leaves.
    waiter.ends.signal.addEventListener('abort', () => {
      const at = line.waiters.indexOf(waiter);
      if (at > 0) {
        line.waiters.splice(at, 1);
        waiter.reject(waiter.ends.signal.reason);
      }
    });
    this.#refuseHopeless(line);
  }

  async #serve(bucket: string, line: Line): Promise<void> {
    while (line.waiters.length > 0) {
      const [head] = line.waiters;
      try {
        const warmUp = this.#warmUpOf(bucket, head);
        if (warmUp !== undefined) await this.#warmEnough(warmUp, head, line);
        head.resolve(await this.#turnOf(head, line));
        warmUp?.start(head.charge.cost, this.clock.monotonicMs());
      } catch (error) {
        head.reject(error);
      }
      line.turn = undefined;
      line.waiters.shift();
    }
    this.#lines.delete(bucket);
  }

  #warmUpOf(bucket: string, { charge, warmUpMs }: Waiter): WarmUp | undefined {
    if (warmUpMs === undefined) return undefined;
    const rate = ratePerSecond(charge.scoped.policy.limit);
    const known = this.#warmUps.get(bucket);
    this.#warmUps.delete(bucket);
    const warmUp =
      known?.ratePerSecond === rate && known.warmUpMs === warmUpMs
        ? known
        : new WarmUp(rate, warmUpMs, this.clock.monotonicMs());
    this.#warmUps.set(bucket, warmUp);
    if (this.#warmUps.size > MOST_WARM_UPS) {
      this.#warmUps.delete(this.#warmUps.keys().next().value as string);
    }
    return warmUp;
  }

  /** Sleeps until what is behind can take the head's call; nothing was taken for it yet. */
  async #warmEnough(warmUp: WarmUp, head: Waiter, line: Line): Promise<void> {
    const nowMs = this.clock.monotonicMs();
    const waitMs = warmUp.waitMs(nowMs);
    if (waitMs === 0) return;
    if (nowMs + waitMs > head.joinedMs + head.timeoutMs) throw tooLong(head, waitMs);
    line.turn = this.#noSooner(waitMs);
    this.#refuseHopeless(line);
    await sleep(this.clock, waitMs, head.ends.signal);
  }

  /** Asks for the head's turn and sleeps until then. */
  async #turnOf(head: Waiter, line: Line): Promise<Acquired> {
    const { charge, joinedMs, timeoutMs, ends } = head;
    const { signal } = ends;
    for (;;) {
      signal.throwIfAborted();
      const leftMs = Math.max(0, joinedMs + timeoutMs - this.clock.monotonicMs());
      const held = await this.hold(charge, leftMs);
      const { decision, delayMs } = held;
      if (decision.allowed) {
        try {
          signal.throwIfAborted();
          line.turn = this.#known(held);
          this.#refuseHopeless(line);
          if (delayMs > 0) await sleep(this.clock, delayMs, signal);
        } catch (error) {
          await held.giveBack();
          throw error;
        }
        return { ...decision, waitedMs: this.clock.monotonicMs() - joinedMs };
      }
      if (decision.retryAfterMs > leftMs) throw tooLong(head, decision.retryAfterMs);
      // Short enough, and still refused: the key is blocked until then, or nothing is promised for later.
      line.turn = this.#noSooner(decision.retryAfterMs);
      this.#refuseHopeless(line);
      await sleep(this.clock, decision.retryAfterMs, signal);
    }
  }

  #known({ decision, delayMs }: Hold): KnownTurn {
    const limit = limitBehind(decision);
    // Of other algorithms the pace of the turns is not the rate.
    if (limit?.algorithm !== 'token-bucket') return this.#noSooner(delayMs);
    return {
      atMs: this.clock.monotonicMs() + delayMs,
      left: delayMs > 0 ? 0 : decision.remaining + 1,
      tokensPerMs: ratePerSecond(limit) / MS_PER_SECOND,
    };
  }

  /** A head whose turn is in `ms`, and nothing is known of the pace behind it. */
  #noSooner(ms: number): KnownTurn {
    return { atMs: this.clock.monotonicMs() + ms, left: Infinity, tokensPerMs: 1 };
  }

  /** Those whose turn cannot come in time are told now. */
  #refuseHopeless(line: Line): void {
    const { turn, waiters } = line;
    if (turn === undefined) return;
    let tokens = -turn.left;
    line.waiters = waiters.filter((waiter, i) => {
      if (i === 0) return true;
      tokens += waiter.charge.cost;
      // A turn is rounded up to whole microseconds; be on the safe side of the float.
      const afterMs = tokens > 0 ? Math.max(0, tokens / turn.tokensPerMs - 1) : 0;
      const soonestMs = turn.atMs + afterMs;
      if (soonestMs <= waiter.joinedMs + waiter.timeoutMs) return true;
      tokens -= waiter.charge.cost;
      waiter.reject(tooLong(waiter, soonestMs - this.clock.monotonicMs()));
      return false;
    });
  }
}

function tooLong({ charge, timeoutMs }: Waiter, waitMs: number): WaitTooLongError {
  return new WaitTooLongError(
    `acquire: the turn of this call under policy "${charge.scoped.policy.name}" is at least ${Math.ceil(waitMs)} ms away, and timeoutMs is ${timeoutMs}`,
    Math.ceil(waitMs),
  );
}
