// Limits calls of handlers: what is due for a call, one decision for all of it, and the answer. Knows no headers by
// name and no store.
import { type ExecutionContext, HttpException, Inject, Injectable, Logger } from '@nestjs/common';
import { InvalidLimitError, UnsupportedOperationError } from '../core/errors';
import { shown } from '../core/limit';
import { type MaybePromise, whenThere } from '../http/maybe-promise';
import { headerWriter, type HeaderWriter } from '../http/rate-limit-headers';
import { limitBehind, wasRefused } from '../limiter/charge';
import type { PolicyRegistry } from '../limiter/policy-registry';
import { type Admission, Admissions, rejectsOnly } from './admission';
import { type Call, type CallCharge, CallCharges, isShadow } from './call-charges';
import { type CallRecord, callRecord } from './call-record';
import { clientIsGone } from './client-gone';
import { DEFERRALS, type Deferrals, leaveCall } from './deferral';
import { ErrorLog } from './error-log';
import { httpAnswer, NEVER_CACHED } from './http-answer';
import { UserWatch } from './lint/user-watch';
import { isDeferTo, variantsOf } from './on-limit';
import type { Plan, PlannedLimit, PlannedSlots, PlannedVariant } from './plan';
import { PlanTable } from './plan-table';
import { RateLimitExceededException } from './rate-limit-exceeded.exception';
import { POLICY_REGISTRY, RATE_LIMIT_OPTIONS } from './rate-limit.constants';
import type { RateLimitModuleOptions } from './rate-limit.options';
import { RateLimiterService } from './rate-limiter.service';
import { RequestSlots } from './request-slots';
import { graphql } from './transports/graphql';
import { http } from './transports/http';
import { onAnswered, setHeaders } from './transports/http-caller';
import { ProxyWatch } from './transports/proxy-watch';
import { rpc } from './transports/rpc';
import type { TransportAdapter } from './transports/transport';
import { websocket } from './transports/websocket';
import { Waiters } from './waiters';
import { wirePolicy } from './wire-policy';

/** By the name that Nest gives them. */
const TRANSPORTS: ReadonlyMap<string, TransportAdapter> = new Map([
  ['http', http],
  ['graphql', graphql],
  ['ws', websocket],
  ['rpc', rpc],
]);

/** Limits the calls that guards see. One for a registration of the module. */
@Injectable()
export class RequestLimiter {
  readonly #charges: CallCharges;
  readonly #admissions: Admissions;
  readonly #headers: HeaderWriter;
  readonly #logger = new Logger('RateLimitGuard');
  readonly #proxies = new ProxyWatch();
  readonly #unknownTransports = new Set<string>();
  /** Names that guards were made for, until they can be checked. */
  readonly #expected = new Set<string>();
  #deferrals: Deferrals | undefined;

  constructor(
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(PlanTable) private readonly plans: PlanTable,
    @Inject(RateLimiterService) private readonly limiter: RateLimiterService,
    @Inject(ErrorLog) private readonly errors: ErrorLog,
    @Inject(POLICY_REGISTRY) { tiers }: PolicyRegistry,
    @Inject(Waiters) waiters: Waiters,
    @Inject(RequestSlots) private readonly slots: RequestSlots,
  ) {
    this.#admissions = new Admissions(limiter, waiters);
    this.#charges = new CallCharges(
      options,
      tiers,
      (error) => errors.report(error),
      new UserWatch(),
    );
    this.#headers = headerWriter(options.headers);
  }

  /**
   * Charges what is due for an invocation and was not charged for it before, and puts the headers on
   * the answer. `true`, at once where everything is known at once.
   *
   * @param names only limits of these names; the rest stays due
   * @throws RateLimitExceededException, or an HttpException with the cause in it
   */
  limit(context: ExecutionContext, names?: ReadonlySet<string>): MaybePromise<true> {
    const foreign = this.plans.foreignOwner(context.getClass())?.providers.get(RequestLimiter);
    if (foreign !== undefined) return (foreign.instance as RequestLimiter).limit(context, names);
    let due: readonly PlannedLimit[] = [];
    try {
      const record = callRecord(context);
      const plan = this.plans.planOf(context.getClass(), context.getHandler());
      due = this.#due(context, plan, record, names);
      const slots = this.#dueSlots(context, plan, names);
      if (due.length === 0 && slots.length === 0) return true;
      const call = this.#call(context, due);
      const charge = () =>
        whenThere(this.#charges.of(call), (charges) => this.#decide(call, record, charges));
      // What can be given back is taken first.
      const done = slots.length === 0 ? charge() : this.slots.holding(call, slots, charge);
      return done instanceof Promise
        ? done.catch((error) => this.#fail(error, context, due))
        : done;
    } catch (error) {
      return this.#fail(error, context, due);
    }
  }

  /**
   * Takes the slots that no guard took for a request; they are held until it has ended.
   *
   * @throws RateLimitExceededException, or an HttpException with the cause in it
   */
  async holdSlots(context: ExecutionContext): Promise<void> {
    try {
      const plan = this.plans.planOf(context.getClass(), context.getHandler());
      const slots = this.#dueSlots(context, plan);
      if (slots.length === 0) return;
      await this.slots.holding(this.#call(context, []), slots, () => undefined);
    } catch (error) {
      this.#fail(error, context, []);
    }
  }

  /** Remembers that a guard was made for a limit of this name. */
  expect(names: readonly string[]): void {
    for (const name of names) {
      if (typeof name !== 'string' || name === '') {
        throw new InvalidLimitError(`RateLimitGuard.only(${shown(name)}): give names of limits`);
      }
      this.#expected.add(name);
    }
  }

  /**
   * @throws UnknownPolicyError when a guard was made for a name that no limit has
   * @throws InvalidLimitError, UnsupportedOperationError for a limit that cannot wait or defer here
   */
  checkExpected(): void {
    for (const name of this.#expected) this.plans.planner.checkName(name, 'RateLimitGuard.only');
    this.#deferrals = this.plans.provided<Deferrals>(DEFERRALS);
    for (const plan of this.plans.plans) {
      this.slots.check(plan);
      for (const variant of plan.limits.flatMap(variantsOf)) this.#checkOnLimit(plan, variant);
    }
  }

  #checkOnLimit(plan: Plan, variant: PlannedVariant): void {
    const { onLimit } = variant;
    const { name, method } = plan.place;
    if (variant.chargesOutcome !== undefined && method === undefined) {
      throw new UnsupportedOperationError(
        `${name}: chargeOn needs an HTTP route, whose status tells how the call ended: leave it out, or settle a reservation by hand (RateLimiterService.reserve)`,
      );
    }
    if (onLimit === 'wait' && !this.limiter.takesBack) {
      throw new UnsupportedOperationError(
        `${name}: onLimit "wait" needs a store with giveBack, and yours has none: add it, or use "reject"`,
      );
    }
    if (variant.chargesOutcome !== undefined && !this.limiter.takesBack) {
      throw new UnsupportedOperationError(
        `${name}: chargeOn needs a store with giveBack, and yours has none: add it, or leave chargeOn out`,
      );
    }
    if (!isDeferTo(onLimit)) return;
    if (this.#deferrals === undefined) {
      throw new InvalidLimitError(
        `${name}: deferTo(${shown(onLimit.queue)}) needs that queue: import RateLimitQueueModule.register({ name: ${shown(onLimit.queue)} }) of nest-rate-limit/queue`,
      );
    }
    this.#deferrals.check(plan, onLimit, this.options);
  }

  #due(
    context: ExecutionContext,
    { limits }: Plan,
    { charged }: CallRecord,
    names: ReadonlySet<string> | undefined,
  ): readonly PlannedLimit[] {
    const due = limits.filter(
      (limit) => !charged.has(limit) && (names === undefined || names.has(limit.name)),
    );
    if (due.length > 0 && this.#transport(context) === undefined) return [];
    for (const limit of due) charged.add(limit);
    return due;
  }

  #dueSlots(
    context: ExecutionContext,
    plan: Plan,
    names?: ReadonlySet<string>,
  ): readonly PlannedSlots[] {
    if (plan.slots.length === 0 || context.getType() !== 'http') return [];
    return this.slots.due(plan, context.getArgs<[object, unknown]>(), names);
  }

  #call(context: ExecutionContext, limits: readonly PlannedLimit[]): Call {
    const transport = this.#transport(context) ?? http;
    const caller = transport.caller(context, this.#proxies);
    return { transport, caller, context, limits, keys: new Map() };
  }

  /** `undefined` for one that is not known: said once, and let through. */
  #transport(context: ExecutionContext): TransportAdapter | undefined {
    const name = context.getType<string>();
    const known = TRANSPORTS.get(name);
    if (known === undefined && !this.#unknownTransports.has(name)) {
      this.#unknownTransports.add(name);
      this.#logger.warn(
        `calls of transport "${name}" are not limited: known are ${[...TRANSPORTS.keys()].join(', ')}; ask RateLimiterService there`,
      );
    }
    return known;
  }

  #decide(call: Call, record: CallRecord, charges: readonly CallCharge[]): MaybePromise<true> {
    if (charges.length === 0) return true;
    if (charges.some(isShadow)) {
      const enforced = charges.filter((charge) => !isShadow(charge));
      const beside = this.#decideShadows(charges.filter(isShadow));
      return Promise.all([this.#decide(call, record, enforced), beside]).then(([, decided]) => {
        this.#watchOutcome(call.caller.res, decided);
        return true;
      });
    }
    if (rejectsOnly(charges)) {
      return whenThere(this.limiter.decide(charges), ({ allowed, decisions }) => {
        const decided = charges.map((charge, i) => ({ charge, decision: decisions[i] }));
        return this.#answer(call, record, { allowed, decisions: decided, deferred: undefined });
      });
    }
    const { transport, caller } = call;
    return this.#admissions
      .admit(charges, (end) => transport.onGone(caller, () => end(clientIsGone())))
      .then((admission) => {
        this.#leaveDeferrable(call, charges, admission);
        return this.#answer(call, record, admission);
      });
  }

  /** Never throws: a shadow changes no answer, whatever the store does. */
  async #decideShadows(charges: readonly CallCharge[]): Promise<Admission['decisions']> {
    try {
      const { decisions } = await this.limiter.decide(charges);
      return charges.map((charge, i) => ({ charge, decision: decisions[i] }));
    } catch (error) {
      this.errors.report(error);
      return [];
    }
  }

  /** For the handler: which of its limits defers, and whether it is to. */
  #leaveDeferrable(
    { caller }: Call,
    charges: readonly CallCharge[],
    { deferred, decisions }: Admission,
  ): void {
    for (const charge of charges) {
      const { onLimit } = charge.variant;
      const decided = decisions.find((each) => each.charge === charge);
      if (!isDeferTo(onLimit) || decided === undefined || this.#deferrals === undefined) continue;
      leaveCall(caller.req as object, {
        caller,
        to: onLimit,
        charge,
        limit: limitBehind(decided.decision) ?? charge.scoped.policy.limit,
        deferred: charge === deferred,
        deferrals: this.#deferrals,
        tell: () => this.limiter.events.emit('deferred', decided.decision),
      });
    }
  }

  #answer({ caller }: Call, { decisions }: CallRecord, admission: Admission): true {
    for (const { charge, decision } of admission.decisions) {
      decisions.push({ decision, policy: wirePolicy(decision, charge.scoped.policy) });
    }
    const headers = this.#headers(decisions);
    if (admission.allowed) {
      setHeaders(caller.res, headers);
      this.#watchOutcome(caller.res, admission.decisions);
      return true;
    }
    setHeaders(caller.res, [...headers, NEVER_CACHED]);
    throw new RateLimitExceededException(decisions.map(({ decision }) => decision));
  }

  /** Charges that depend on how the call ends are given back when it ended otherwise. */
  #watchOutcome(response: unknown, decisions: Admission['decisions']): void {
    const open = decisions.filter(
      ({ charge, decision }) =>
        charge.variant.chargesOutcome !== undefined && !wasRefused(decision),
    );
    if (open.length === 0 || response === undefined) return;
    onAnswered(response, (outcome) => {
      for (const { charge, decision } of open) {
        try {
          if (charge.variant.chargesOutcome?.(outcome) !== false) continue;
          this.limiter
            .unspend(charge, decision)
            .catch((error: unknown) => this.errors.report(error));
        } catch (error) {
          this.errors.report(error);
        }
      }
    });
  }

  #fail(error: unknown, context: ExecutionContext, due: readonly PlannedLimit[]): never {
    const variants = due.map(({ otherwise }) => otherwise);
    const closed = variants.filter(({ scoped }) => scoped.policy.failureMode === 'closed');
    const { exception, headers } = httpAnswer(error, {
      policies: closed.map(({ scoped }) => scoped.policy.name),
      cost: Math.max(1, ...variants.map(({ cost }) => (typeof cost === 'number' ? cost : 1))),
    });
    if (isOurFault(exception, error)) this.errors.report(error);
    const transport = this.#transport(context) ?? http;
    if (headers.length > 0) setHeaders(transport.caller(context, this.#proxies).res, headers);
    // oxlint-disable-next-line typescript/only-throw-error -- an error in the words of the transport
    throw transport.refusal(exception);
  }
}

/** Nobody reads it; the handler must not run. 499 is what others write into their logs for it. */
function isOurFault(exception: HttpException, error: unknown): boolean {
  return exception !== error && exception.getStatus() === 500;
}
