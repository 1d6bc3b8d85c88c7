// Slots for requests: which are due, and how they are held until nothing of the request runs any more.
import { Inject, Injectable } from '@nestjs/common';
import type { Decision } from '../core/decision';
import { ConcurrencyExceededError } from '../core/errors';
import { resolveKey } from '../http/key-resolver';
import { ConcurrencyLimiter } from '../limiter/concurrency-limiter';
import type { Lease } from '../limiter/held-lease';
import type { Call } from './call-charges';
import { callInFlight } from './call-in-flight';
import { ErrorLog } from './error-log';
import type { Plan, PlannedSlots } from './plan';
import { RATE_LIMIT_OPTIONS } from './rate-limit.constants';
import type { RateLimitModuleOptions } from './rate-limit.options';

/** Takes slots for requests and gives them back, each once. */
@Injectable()
export class RequestSlots {
  constructor(
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(ConcurrencyLimiter) private readonly limiter: ConcurrencyLimiter,
    @Inject(ErrorLog) private readonly errors: ErrorLog,
  ) {}

  /** @throws UnsupportedOperationError when a plan has slots and the store has none */
  check({ slots, place }: Plan): void {
    if (slots.length > 0) this.limiter.checkSupported(place.name);
  }

  /** The slots of a plan that nobody has taken care of for this request. From here on the caller has to. */
  due(
    { slots }: Plan,
    [request, response]: readonly [object, unknown],
    names?: ReadonlySet<string>,
  ): readonly PlannedSlots[] {
    if (slots.length === 0) return slots;
    const call = callInFlight(request, response);
    return slots.filter(
      (each) => (names === undefined || names.has(each.limit.name)) && call.takes(each),
    );
  }

  /**
   * Takes slots, then goes on. They are held until the request has ended; not even that long if `next` throws: who is
   * refused further on holds nothing.
   *
   * @throws ConcurrencyExceededError when one is not to be had; none is held then
   * @throws MissingKeyError, StoreUnavailableError, whatever `next` throws
   */
  async holding<T>(
    call: Call,
    due: readonly PlannedSlots[],
    next: () => T | Promise<T>,
  ): Promise<T> {
    const held: Lease[] = [];
    try {
      for (const slots of (await this.#isSkipped(call, due)) ? [] : due) {
        await this.#take(call, slots, held);
      }
      return await next();
    } catch (error) {
      for (const lease of held) await lease.release();
      throw error;
    }
  }

  async #isSkipped(
    { caller, context }: Call,
    due: readonly PlannedSlots[],
  ): Promise<boolean | undefined> {
    try {
      return await this.options.skip?.(caller, context);
    } catch (error) {
      if (!due.every(({ limit }) => limit.shadow)) throw error;
      this.errors.report(error);
      return true;
    }
  }

  async #take(call: Call, { limit, key, skip }: PlannedSlots, held: Lease[]): Promise<void> {
    const { caller, context } = call;
    let decision: Decision;
    try {
      if ((await skip?.(caller, context)) === true) return;
      const text = call.keys.get(key) ?? (await resolveKey(key, caller, context));
      call.keys.set(key, text);
      const entry = await this.limiter.enter(limit, text, (lost) => {
        // Closing cuts connections; what they held ends with its lease.
        if (!this.limiter.isClosed) this.errors.report(lost);
      });
      decision = entry.decision;
      if (entry.lease !== undefined) this.#hold(call, entry.lease, held);
    } catch (error) {
      // A shadow changes no answer, whatever the functions beside it do.
      if (!limit.shadow) throw error;
      this.errors.report(error);
      return;
    }
    if (decision.allowed) return;
    throw new ConcurrencyExceededError(
      `as many calls of ${JSON.stringify(limit.name)} are in flight as may be (${limit.max}): try again when one has ended`,
      [decision],
    );
  }

  #hold({ caller: { req, res } }: Call, lease: Lease, held: Lease[]): void {
    held.push(lease);
    callInFlight(req as object, res).watch({
      ended: () => void lease.release(),
      abandoned: () => lease.runOut(),
    });
  }
}
