// The use cases, framework-free: who asks, under which policy, at what cost; the store decides. Long because it is the
// face: a method a use case, with all that is promised of it; what they do is next door.
import { isWindow } from '../core/algorithms/algorithm';
import { systemClock, type Scheduler } from '../core/clock';
import { strictest, type CombinedDecision, type Decision } from '../core/decision';
import { US_PER_MS } from '../core/duration';
import {
  InvalidCostError,
  InvalidLimitError,
  LimiterClosedError,
  MissingKeyError,
  UnsupportedOperationError,
} from '../core/errors';
import { shown, THOUSANDTHS_PER_TOKEN, type Limit } from '../core/limit';
import type { Awaitable } from '../store/rate-limit-store';
import type { AnsweringStore } from '../store/resilient-port';
import { type AcquireOptions, BoundLimiter, checkFunction } from './bound-limiter';
import { type BudgetHold, type BudgetOptions, spend } from './budget';
import { checkCharges, checkOptions, checkScope, checkSignal, checkWait } from './call-checks';
import { bucketCharge, combined, decision, letPass, merged, type PreparedCharge } from './charge';
import { LimiterEmitter } from './events';
import { hold, type Hold } from './hold';
import type { LimitRef } from './limit-ref';
import {
  Configurations,
  type ConfigurationOptions,
  type ConfigureOptions,
  type PolicyConfiguration,
} from './configurations';
import type { Policy } from './policy';
import type { PolicyRegistry } from './policy-registry';
import {
  adjusting,
  type CombinedReservation,
  creditsOf,
  type Reservation,
  reservation,
  single,
} from './reservation';
import { passing, withShadows } from './shadow-reservation';
import { type Acquired, WaitLines } from './wait-lines';

/** One charge of {@link RateLimiter.consumeAll}. */
export interface Charge {
  /** Whose bucket; any string. */
  key: string;
  /** @default the module's limit */
  limit?: LimitRef;
  /**
   * Tokens to take: positive and finite; counted in thousandths, rounded up.
   * @default 1
   */
  cost?: number;
  /** @default the policy's own scope; `'app'` for plain numbers */
  scope?: string;
}

/** What is known of a key. */
export interface BucketInfo {
  /** Whole tokens that are there now, rounded down, never negative. */
  available: number;
  /** Tokens per the limit's period. */
  rate: number;
  /** The largest burst, in tokens. */
  capacity: number;
}

const DEFAULT_WAIT_MS = 60_000;
const LONGEST_WARM_UP_MS = 86_400_000;

/** Decides charges. All instances on one store share their buckets. */
export class RateLimiter {
  /** Typed events; see {@link LimiterEmitter}. */
  readonly events: LimiterEmitter;
  #closed = false;
  readonly #configurations: Configurations;
  readonly #lines: WaitLines;

  constructor(
    protected readonly store: AnsweringStore,
    protected readonly registry: PolicyRegistry,
    events: LimiterEmitter,
    private readonly clock: Scheduler = systemClock,
  ) {
    this.events = events;
    this.#lines = new WaitLines((charge, maxWaitMs) => this.#holdAndTell(charge, maxWaitMs), clock);
    this.#configurations = new Configurations(store.configurations, registry);
  }

  /**
   * Takes `cost` tokens from the bucket of `key` if they are there. A denial is a value.
   *
   * @throws InvalidLimitError, UnknownPolicyError, InvalidCostError, CostExceedsCapacityError: the
   *   bucket is untouched
   * @throws StoreUnavailableError when the store is out and the policy is `closed`
   */
  async consume(
    key: string,
    limit?: LimitRef,
    options: { cost?: number; scope?: string } = {},
  ): Promise<Decision> {
    const { binding } = await this.decide([this.#prepared({ ...options, key, limit })]);
    return binding;
  }

  /**
   * Makes several charges together: all of them, or none. One call of the store. Charges of one
   * bucket add up.
   *
   * @param charges 1 to 1000
   */
  async consumeAll(charges: readonly Charge[]): Promise<CombinedDecision> {
    return this.decide(this.#allPrepared(charges, 'consumeAll'));
  }

  /**
   * Waits for its turn, at most `timeoutMs`, and takes the tokens then. Callers of one bucket in this process stand in
   * one line, first come, first served; only its head asks the store, so what others take meanwhile may lengthen the
   * wait that was foreseen. Nothing is taken unless the call resolves.
   *
   * @throws WaitTooLongError, at once, when its turn cannot come in time
   * @throws TooManyWaitersError when 10 000 wait in this process; LimiterClosedError when it closes
   * @throws the reason of `signal`: what was taken for the call is given back, nobody behind is overtaken
   * @throws InvalidLimitError, InvalidCostError, CostExceedsCapacityError, MissingKeyError; StoreUnavailableError when `closed`
   */
  async acquire(key: string, limit?: LimitRef, options: AcquireOptions = {}): Promise<Acquired> {
    checkOptions(options, 'acquire');
    const { cost, timeoutMs = DEFAULT_WAIT_MS, signal } = options;
    const { numbers, warmUpMs } = warmUpOf(limit);
    const charge = this.#prepared({ key, limit: numbers, cost });
    checkWait(timeoutMs, 'acquire: timeoutMs');
    checkSignal(signal, 'acquire');
    // What is wrong with the cost is found before it has waited for anybody.
    bucketCharge(charge);
    const { shadow } = charge.scoped.policy;
    return this.#lines.wait(charge, timeoutMs, signal, shadow ? undefined : warmUpMs);
  }

  /**
   * Takes the tokens for the earliest moment within `maxWaitMs`, which the caller waits out himself. Whatever comes
   * after it waits behind. Needs the shared store.
   *
   * @throws StoreUnavailableError without the shared store
   * @throws InvalidLimitError, InvalidCostError, CostExceedsCapacityError, MissingKeyError
   */
  async reserve(
    key: string,
    limit?: LimitRef,
    options: { cost?: number; maxWaitMs?: number } = {},
  ): Promise<Reservation> {
    checkOptions(options, 'reserve');
    const { cost, maxWaitMs } = options;
    return single(await this.reserveAll([{ key, limit, cost }], { maxWaitMs }));
  }

  /** Reserves several charges together: all of them, or none. Its moment is the latest of theirs. */
  async reserveAll(
    charges: readonly Charge[],
    options: { maxWaitMs?: number } = {},
  ): Promise<CombinedReservation> {
    checkOptions(options, 'reserveAll');
    const { maxWaitMs = 0 } = options;
    checkWait(maxWaitMs, 'reserve: maxWaitMs');
    return this.#reserve(this.#allPrepared(charges, 'reserveAll'), maxWaitMs);
  }

  /**
   * Runs `fn` when all charges have room, and settles them by what it said it used. LLM calls: one charge for the
   * request, one for the tokens it may need at most. When the store is out by the time the work has ended, the
   * estimate stays charged and the result is not lost.
   *
   * @throws WaitTooLongError, the reason of `signal`, or as `reserve`: `fn` was not called and nothing is taken
   * @throws what `fn` throws, after settling
   */
  async withBudget<T>(
    charges: readonly Charge[],
    options: BudgetOptions,
    fn: (hold: BudgetHold) => T | Promise<T>,
  ): Promise<Awaited<T>> {
    checkOptions(options, 'withBudget');
    const { maxWaitMs = DEFAULT_WAIT_MS, signal } = options;
    checkWait(maxWaitMs, 'withBudget: maxWaitMs');
    checkSignal(signal, 'withBudget');
    checkFunction(fn, 'withBudget: fn');
    // A store that could not settle has to be found out before the work is done.
    adjusting(this.store);
    signal?.throwIfAborted();
    const prepared = this.#allPrepared(charges, 'withBudget');
    return spend(prepared, await this.#reserve(prepared, maxWaitMs), this.clock, signal, fn);
  }

  /**
   * Gives tokens back: never above full. Needs the shared store.
   *
   * @param tokens more than 0; counted in thousandths, rounded up
   * @throws InvalidCostError: nothing was changed
   */
  async refund(key: string, limit: LimitRef | undefined, tokens: number): Promise<void> {
    await this.#adjust(key, limit, tokens, 'refund', 1);
  }

  /** Takes tokens without asking, into debt if need be: later calls wait for it. Else as `refund`. */
  async penalize(key: string, limit: LimitRef | undefined, tokens: number): Promise<void> {
    await this.#adjust(key, limit, tokens, 'penalize', -1);
  }

  /** The same calls for one policy and one key: what a client of somebody else's API works with. */
  for(policy?: LimitRef, key = 'all'): BoundLimiter {
    this.#check(key);
    this.registry.resolve(warmUpOf(policy).numbers);
    return new BoundLimiter(this, key, policy);
  }

  /** What `consume` would say; takes nothing and writes nothing. */
  async peek(
    key: string,
    limit?: LimitRef,
    options: { cost?: number; scope?: string } = {},
  ): Promise<Decision> {
    const charge = this.#prepared({ ...options, key, limit });
    const answer = await this.store.peek([bucketCharge(charge)]);
    const said = decision(charge, answer.outcomes[0], answer);
    return charge.scoped.policy.shadow && !said.allowed ? letPass(said) : said;
  }

  /**
   * Fills the bucket of `key` again. Without a limit: its buckets under every policy known in this
   * process. Needs the shared store.
   */
  async reset(key: string, limit?: LimitRef, options: { scope?: string } = {}): Promise<void> {
    this.#check(key);
    checkOptions(options, 'reset');
    checkScope(options.scope);
    const places =
      limit === undefined
        ? [...this.registry.places]
        : [this.registry.resolve(limit, options.scope).place];
    await this.store.reset(places.map((place) => place.bucket(key)));
  }

  /** What is known of a key; `null` when nothing is: its bucket is full, or was never used. */
  async getInfo(
    key: string,
    limit?: LimitRef,
    options: { scope?: string } = {},
  ): Promise<BucketInfo | null> {
    const charge = this.#prepared({ ...options, key, limit });
    const { outcomes } = await this.store.peek([bucketCharge(charge)]);
    const [{ known, held, limit: inForce = charge.scoped.policy.limit }] = outcomes;
    if (!known) return null;
    const { q, rate, capacityTokens } = inForce;
    const available = Math.max(0, Math.floor(held / (q * THOUSANDTHS_PER_TOKEN)));
    return { available, rate, capacity: capacityTokens };
  }

  /**
   * Lets other numbers hold for `key` under a policy, in all scopes of it and in all instances: every charge made
   * after this is decided by them, at no extra round trip. What is left of tokens carries over, up to the new
   * capacity. A call may still cost no more than the policy's own capacity.
   *
   * @param limit numbers, or a row of the tier table as it is now
   * @throws InvalidLimitError, UnknownPolicyError; nothing was changed
   * @throws StoreUnavailableError without the shared store; while that is out, the policy's own numbers hold
   */
  async configure(
    key: string,
    limit: Limit | { tier: string },
    options: ConfigureOptions = {},
  ): Promise<void> {
    this.#check(key);
    checkOptions(options, 'configure');
    await this.#configurations.configure(key, limit, options);
  }

  /** Ends what was configured: the policy's own numbers hold again. Blocks stay. Nothing configured is no error. */
  async clearConfiguration(key: string, options: ConfigurationOptions = {}): Promise<void> {
    this.#check(key);
    checkOptions(options, 'clearConfiguration');
    await this.#configurations.clear(key, options);
  }

  /**
   * Gives a row of the tier table other numbers, for everybody who has it, from the next charge on. In this process:
   * call it in every instance, e.g. from what watches your settings. Tokens carry over.
   *
   * @throws InvalidLimitError, UnknownPolicyError; nothing was changed
   */
  setTier(tier: string, limit: Limit): void {
    this.registry.setTier(tier, limit);
  }

  /** The same for a named policy of the module. */
  setPolicy(name: string, limit: Limit): void {
    this.registry.setPolicy(name, limit);
  }

  /** What is in force for `key`, blocks included, under the policies known in this process. */
  async configurations(key: string): Promise<PolicyConfiguration[]> {
    this.#check(key);
    return this.#configurations.all(key);
  }

  /**
   * Refuses everything of `key` under a policy, in all scopes of it, for `ms` from now, in place of a block that is
   * there. The bucket fills meanwhile. Needs the shared store.
   *
   * @throws InvalidLimitError unless `ms` is positive and at most 100 years
   */
  async block(key: string, limit: LimitRef | undefined, ms: number): Promise<void> {
    this.#check(key);
    await this.#configurations.block(key, this.registry.resolve(limit).policy.name, ms);
  }

  /** Ends a block. None is no error. */
  async unblock(key: string, limit?: LimitRef): Promise<void> {
    this.#check(key);
    await this.#configurations.unblock(key, this.registry.resolve(limit).policy.name);
  }

  /**
   * Decides charges whose policies and keys are settled: those that enforce together, all or
   * nothing; those that only shadow each on its own, beside, and what they refuse is only told by
   * the `denied` event. Answers at once where the store can.
   */
  decide(charges: readonly PreparedCharge[]): Awaitable<CombinedDecision> {
    this.#checkOpen();
    if (!charges.some(({ scoped }) => scoped.policy.shadow)) return this.#decideTogether(charges);
    return this.#decideWithShadows(charges);
  }

  /**
   * Decides charges together, all or nothing, and tells nobody: for who may still turn a denial into
   * something else. Shadow mode plays no part.
   */
  ask(charges: readonly PreparedCharge[]): Awaitable<CombinedDecision> {
    this.#checkOpen();
    const { charges: buckets, at } = merged(charges.map((charge) => bucketCharge(charge)));
    const answer = this.store.take(buckets);
    return answer instanceof Promise
      ? answer.then((settled) => combined(charges, at, settled))
      : combined(charges, at, answer);
  }

  /** Tells the listeners what was decided of charges. */
  tell(charges: readonly PreparedCharge[], { allowed, decisions }: CombinedDecision): void {
    decisions.forEach((each, i) => {
      // A bucket that would have granted was neither charged nor refused when another one refused.
      if (allowed || !each.allowed) {
        this.events.decided(each, allowed, charges[i].scoped.policy.shadow);
      }
    });
  }

  /** Takes a charge for the earliest moment within `maxWaitMs`. Tells nobody. */
  hold(charge: PreparedCharge, maxWaitMs: number): Awaitable<Hold> {
    this.#checkOpen();
    return hold(this.store, charge, maxWaitMs);
  }

  /**
   * Gives back charges that were granted for now and turned out to be none, to whom their decisions came from. Once.
   * What cannot be given back in time stays charged.
   *
   * @throws StoreConfigurationError, StoreUnavailableError
   */
  async unspend(charge: PreparedCharge, { source }: Decision): Promise<void> {
    const { bucket, place, configuration, limit, price, ...rest } = bucketCharge(charge);
    const { adjust } = this.store;
    if (source !== 'local' && adjust !== undefined) {
      // Of a leaky bucket, a place whose moment has come is not given back; what was paid for it is.
      await adjust([{ bucket, place, configuration, limit, credits: price }]);
      return;
    }
    // Its moment is past, whatever the clock shows.
    const grant = { ...rest, bucket, place, configuration, limit, price, startsAtUs: 0 };
    await this.store.giveBack([grant], source);
  }

  /** False for a store that keeps what was granted for a later moment, used or not. */
  get takesBack(): boolean {
    return this.store.takesBack;
  }

  /** Ends the store's connections. Calls after that fail with `LimiterClosedError`. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#lines.close();
    await this.store.close();
  }

  async #decideWithShadows(charges: readonly PreparedCharge[]): Promise<CombinedDecision> {
    // What is wrong with one is found before another is charged.
    for (const charge of charges) bucketCharge(charge);
    const enforced = charges.filter(({ scoped }) => !scoped.policy.shadow);
    const [together, ...beside] = await Promise.all([
      enforced.length > 0 ? this.#decideTogether(enforced) : undefined,
      ...charges
        .filter(({ scoped }) => scoped.policy.shadow)
        .map((charge) => this.#decideTogether([charge])),
    ]);
    let [nextEnforced, nextShadow] = [0, 0];
    const decisions = charges.map(({ scoped }) => {
      if (!scoped.policy.shadow) return (together as CombinedDecision).decisions[nextEnforced++];
      const [shadow] = beside[nextShadow++].decisions;
      return shadow.allowed ? shadow : letPass(shadow);
    });
    return together === undefined
      ? { allowed: true, decisions, binding: decisions.reduce(strictest) }
      : { ...together, decisions };
  }

  #decideTogether(charges: readonly PreparedCharge[]): Awaitable<CombinedDecision> {
    const asked = this.ask(charges);
    const told = (decided: CombinedDecision) => {
      this.tell(charges, decided);
      return decided;
    };
    return asked instanceof Promise ? asked.then(told) : told(asked);
  }

  async #holdAndTell(charge: PreparedCharge, maxWaitMs: number): Promise<Hold> {
    const held = await this.hold(charge, maxWaitMs);
    const { decision } = held;
    this.tell([charge], { allowed: decision.allowed, decisions: [decision], binding: decision });
    return charge.scoped.policy.shadow ? passing(held) : held;
  }

  async #reserve(
    charges: readonly PreparedCharge[],
    maxWaitMs: number,
  ): Promise<CombinedReservation> {
    const shadows = charges.map(({ scoped }) => scoped.policy.shadow);
    // What is wrong with one is found before another is charged.
    for (const charge of charges) bucketCharge(charge);
    if (!shadows.includes(true)) return this.#reserveTogether(charges, maxWaitMs);
    const enforced = charges.filter((_, i) => !shadows[i]);
    const [together, ...beside] = await Promise.all([
      enforced.length > 0 ? this.#reserveTogether(enforced, maxWaitMs) : undefined,
      ...charges
        .filter((_, i) => shadows[i])
        .map((charge) => this.#reserveTogether([charge], maxWaitMs)),
    ]);
    return withShadows(shadows, together, beside, this.clock.nowMs());
  }

  async #reserveTogether(
    charges: readonly PreparedCharge[],
    maxWaitMs: number,
  ): Promise<CombinedReservation> {
    const maxWaitUs = Math.floor(maxWaitMs * US_PER_MS);
    for (const { scoped } of maxWaitUs > 0 ? charges : []) checkReservable(scoped.policy);
    const { charges: buckets, at } = merged(
      charges.map((charge) => ({ ...bucketCharge(charge, maxWaitUs), failureMode: 'closed' })),
    );
    const answer = await this.store.take(buckets);
    const nowMs = this.clock.nowMs();
    const reserved = reservation(this.store, { charges, merged: buckets, at, answer, nowMs });
    this.tell(charges, reserved);
    return reserved;
  }

  async #adjust(
    key: string,
    limit: LimitRef | undefined,
    tokens: number,
    what: string,
    sign: 1 | -1,
  ): Promise<void> {
    const { scoped } = this.#prepared({ key, limit });
    const { policy, place } = scoped;
    const credits = creditsOf(tokens, policy.limit, `${what}: tokens`);
    if (credits === 0) throw new InvalidCostError(`${what}: tokens 0: give more than 0`);
    await adjusting(this.store)([
      {
        bucket: place.bucket(key),
        place: place.name,
        configuration: place.configuration(key),
        limit: policy.limit,
        credits: sign * credits,
      },
    ]);
  }

  #allPrepared(charges: readonly Charge[], what: string): PreparedCharge[] {
    checkCharges(charges, what);
    return charges.map((charge) => this.#prepared(charge));
  }

  #prepared({ key, limit, cost = 1, scope }: Charge): PreparedCharge {
    this.#check(key);
    checkScope(scope);
    return { scoped: this.registry.resolve(limit, scope), key, cost };
  }

  #check(key: string): void {
    this.#checkOpen();
    if (typeof key !== 'string') {
      throw new MissingKeyError(`key ${shown(key)} is not a string: whose bucket is it?`);
    }
    // Whoever has no key would share this bucket with all others who have none.
    if (key === '') throw new MissingKeyError('key "" is empty: whose bucket is it?');
  }

  #checkOpen(): void {
    if (this.#closed) throw new LimiterClosedError('the rate limiter is closed');
  }
}

/** The warm-up of a limit, apart from its numbers. @throws InvalidLimitError */
function warmUpOf(limit: LimitRef | undefined): { numbers?: LimitRef; warmUpMs?: number } {
  if (typeof limit !== 'object' || limit === null || !('warmUpMs' in limit)) {
    return { numbers: limit };
  }
  const { warmUpMs, ...numbers } = limit;
  if (warmUpMs === undefined) return { numbers };
  if (typeof warmUpMs === 'number' && warmUpMs > 0 && warmUpMs <= LONGEST_WARM_UP_MS) {
    return { numbers, warmUpMs };
  }
  throw new InvalidLimitError(
    `limit: warmUpMs ${shown(warmUpMs)} is not a number of ms above 0, at most a day`,
  );
}

/** @throws UnsupportedOperationError when nothing can be reserved for a later moment */
function checkReservable({ name, limit }: Policy): void {
  if (!isWindow(limit)) return;
  throw new UnsupportedOperationError(
    `policy "${name}" counts by "${limit.algorithm}", which promises no later moment: reserve with maxWaitMs 0, use acquire, or another algorithm`,
  );
}
