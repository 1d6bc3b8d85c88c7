// The use cases, framework-free: who asks, under which policy, at what cost; the store decides.
import { strictest, type CombinedDecision, type Decision } from '../core/decision';
import { InvalidLimitError, LimiterClosedError, MissingKeyError } from '../core/errors';
import { shown, THOUSANDTHS_PER_TOKEN, type Limit } from '../core/limit';
import type { Awaitable } from '../store/rate-limit-store';
import type { AnsweringStore } from '../store/resilient-port';
import { bucketCharge, combined, decision, merged, type PreparedCharge } from './charge';
import { LimiterEmitter } from './events';
import { hold, type Hold } from './hold';
import {
  Configurations,
  type ConfigurationOptions,
  type ConfigureOptions,
  type PolicyConfiguration,
} from './configurations';
import type { PolicyRegistry } from './policy-registry';

/** Which limit a call is about: numbers, the name of a policy, or a row of the tier table. */
export type LimitRef = Limit | string | { tier: string };

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

/** Decides charges. All instances on one store share their buckets. */
export class RateLimiter {
  /** Typed events; see {@link LimiterEmitter}. */
  readonly events: LimiterEmitter;
  #closed = false;
  readonly #configurations: Configurations;

  constructor(
    protected readonly store: AnsweringStore,
    protected readonly registry: PolicyRegistry,
    events: LimiterEmitter,
  ) {
    this.events = events;
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
   * bucket add up. An empty list is an error: nothing could bind.
   */
  async consumeAll(charges: readonly Charge[]): Promise<CombinedDecision> {
    if (!Array.isArray(charges) || charges.length === 0) {
      throw new InvalidLimitError(
        `consumeAll: ${shown(charges)} is not a list of at least one charge`,
      );
    }
    return this.decide(charges.map((charge) => this.#prepared(charge)));
  }

  /** What `consume` would say; takes nothing and writes nothing. */
  async peek(
    key: string,
    limit?: LimitRef,
    options: { cost?: number; scope?: string } = {},
  ): Promise<Decision> {
    const charge = this.#prepared({ ...options, key, limit });
    const answer = await this.store.peek([bucketCharge(charge)]);
    return decision(charge, answer.outcomes[0], answer);
  }

  /**
   * Fills the bucket of `key` again. Without a limit: its buckets under every policy known in this
   * process. Needs the shared store.
   */
  async reset(key: string, limit?: LimitRef, options: { scope?: string } = {}): Promise<void> {
    this.#check(key);
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
    options?: ConfigureOptions,
  ): Promise<void> {
    this.#check(key);
    await this.#configurations.configure(key, limit, options);
  }

  /** Ends what was configured: the policy's own numbers hold again. Blocks stay. Nothing configured is no error. */
  async clearConfiguration(key: string, options?: ConfigurationOptions): Promise<void> {
    this.#check(key);
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

  /** False for a store that keeps what was granted for a later moment, used or not. */
  get takesBack(): boolean {
    return this.store.takesBack;
  }

  /** Ends the store's connections. Calls after that fail with `LimiterClosedError`. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.store.close();
  }

  async #decideWithShadows(charges: readonly PreparedCharge[]): Promise<CombinedDecision> {
    const enforced = charges.filter(({ scoped }) => !scoped.policy.shadow);
    const [together, ...beside] = await Promise.all([
      enforced.length > 0 ? this.#decideTogether(enforced) : undefined,
      ...charges
        .filter(({ scoped }) => scoped.policy.shadow)
        .map((charge) => this.#decideTogether([charge])),
    ]);
    let [nextEnforced, nextShadow] = [0, 0];
    const decisions = charges.map(({ scoped }) =>
      scoped.policy.shadow
        ? { ...beside[nextShadow++].decisions[0], allowed: true, retryAfterMs: 0 }
        : (together as CombinedDecision).decisions[nextEnforced++],
    );
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

  #prepared({ key, limit, cost = 1, scope }: Charge): PreparedCharge {
    this.#check(key);
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
