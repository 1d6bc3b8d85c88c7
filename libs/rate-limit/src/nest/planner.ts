// Turns the declarations on a handler into its plan. Everything that can be wrong with them is found here.
import type { Type } from '@nestjs/common';
import { InvalidLimitError, UnknownPolicyError } from '../core/errors';
import { shown, type Limit } from '../core/limit';
import { byIp } from '../http/key-resolvers';
import { whenThere } from '../http/maybe-promise';
import { DEFAULT_NAME, priceOf, type PolicyBehaviour, type ScopedPolicy } from '../limiter/policy';
import {
  APP_SCOPE,
  policyOrigin,
  type PolicyRegistry,
  tierOrigin,
} from '../limiter/policy-registry';
import { knownTier } from '../limiter/tiers';
import { chargesOutcome } from './charge-on';
import { byName, classLevels, declaredLevel } from './declared-level';
import { declaredByOptions, type DeclaredLimit } from './declared-limit';
import { type HandlerPlace, scopeAt } from './handler-place';
import { mergedLimits, type ModuleLimits, type Variants } from './merged-limits';
import { alwaysOf } from './module-options';
import { checkOnLimits } from './on-limit';
import type { Plan, PlannedLimit, PlannedVariant } from './plan';
import { plannedSlots } from './planned-slots';
import type { RateLimitModuleOptions, RateLimitOptions } from './rate-limit.options';
import type { ThrottlerLimits } from './throttler-limits';

const MODULE = 'RateLimitModule';

/** What handlers without a decorator are charged. */
export type Undecorated = 'limit' | 'tiers' | 'nothing';

/** Makes plans for the handlers of one module's application. */
export class Planner {
  readonly #moduleLimits: ModuleLimits;
  readonly #declaredNames = new Set<string>();
  readonly #skips = new Map<string, string>();

  /** @throws InvalidLimitError, UnsupportedOperationError for what is wrong with the module's limits */
  constructor(
    private readonly options: RateLimitModuleOptions,
    private readonly registry: PolicyRegistry,
    private readonly throttlers?: ThrottlerLimits,
  ) {
    const always = alwaysOf(options).map((each, i) =>
      declaredByOptions({ ...each, scope: APP_SCOPE }, `${MODULE}: always[${i}]`),
    );
    const undecorated = this.undecorated === 'nothing' ? [] : [this.#ofModule()];
    this.#moduleLimits = { always: byName(always), undecorated: byName(undecorated) };
    // What is wrong with them is found even when no handler uses them.
    for (const variants of this.#moduleLimits.always.values()) this.#planned(variants);
    for (const name of registry.policyNames) {
      const place = `${MODULE}: policies.${name}`;
      this.#variant({ source: 'policy', name, tiers: undefined, options: {}, place }, undefined);
    }
  }

  /** Names of all limits that were met so far, and those of the module. */
  get names(): ReadonlySet<string> {
    const { always, undecorated } = this.#moduleLimits;
    return new Set([
      DEFAULT_NAME,
      ...this.registry.policyNames,
      ...always.keys(),
      ...undecorated.keys(),
      ...this.#declaredNames,
      ...(this.throttlers?.names ?? []),
    ]);
  }

  /** @throws UnknownPolicyError when a name that was skipped so far belongs to no limit */
  checkSkips(): void {
    for (const [name, place] of this.#skips) this.checkName(name, `${place}: @SkipRateLimit`);
  }

  /** @throws UnknownPolicyError when no limit has this name */
  checkName(name: string, place: string): void {
    const { names } = this;
    if (names.has(name)) return;
    throw new UnknownPolicyError(
      `${place}(${shown(name)}): no limit has this name; known names: ${[...names].join(', ')}`,
    );
  }

  get undecorated(): Undecorated {
    if (this.options.limit !== undefined) return 'limit';
    return this.registry.tiers === undefined ? 'nothing' : 'tiers';
  }

  get alwaysNames(): Iterable<string> {
    return this.#moduleLimits.always.keys();
  }

  /** Names of the limits that stand for throttlers. */
  get throttlerNames(): Iterable<string> {
    return this.throttlers?.names ?? [];
  }

  /** @throws InvalidLimitError, UnknownPolicyError, UnsupportedOperationError naming the place */
  plan(type: Type, handler: object, place: HandlerPlace): Plan {
    const levels = [...classLevels(type), declaredLevel(handler, place.name)];
    for (const level of levels) {
      for (const name of [...level.limits.keys(), ...level.slots.keys()])
        this.#declaredNames.add(name);
      for (const name of level.skips) this.#skips.set(name, level.place);
    }
    const { limits, decorated } = mergedLimits(levels, this.#limitsBeside(type, handler, place));
    const planned = limits.map((each) => this.#planned(each, place));
    const slots = plannedSlots(levels, place, this.registry, this.options.key);
    const plan = { place, handler, limits: planned, slots, decorated };
    checkOnLimits(plan);
    return plan;
  }

  /** What the module adds at a handler. */
  #limitsBeside(type: Type, handler: object, { name }: HandlerPlace): ModuleLimits {
    if (this.throttlers === undefined) return this.#moduleLimits;
    const { always, undecorated } = this.#moduleLimits;
    return {
      always: new Map([...this.throttlers.of(type, handler, name), ...always]),
      undecorated,
    };
  }

  /** The module's own limit for undecorated handlers, as if it had been declared. */
  #ofModule(): DeclaredLimit {
    const { limit } = this.options;
    return limit === undefined
      ? declaredByOptions({}, `${MODULE}: tiers`)
      : declaredByOptions({ ...limit, scope: APP_SCOPE }, `${MODULE}: limit`);
  }

  #planned(variants: Variants, at?: HandlerPlace): PlannedLimit {
    const [{ name, source, place, options }] = variants;
    const general = variants.find(({ tiers }) => tiers === undefined);
    if (source === 'table') return this.#table(variants[0], at, options.scope);
    if (general !== undefined && variants.length === 1) {
      return { name, byTier: undefined, otherwise: this.#variant(general, at) };
    }
    const byTier = new Map<string, PlannedVariant>();
    for (const each of variants) {
      const variant = this.#variant(each, at);
      for (const tier of each.tiers ?? []) {
        if (this.registry.tiers !== undefined) this.#known(tier, each.place);
        byTier.set(tier, variant);
      }
    }
    if (general !== undefined) return { name, byTier, otherwise: this.#variant(general, at) };
    if (this.registry.tiers === undefined) {
      throw new InvalidLimitError(
        `${place}: tier ${shown(options.tier)} has numbers for ${shown(name)}, but nobody else has: add a limit of that name without a tier, or tiers to RateLimitModule`,
      );
    }
    const { otherwise, byTier: rows } = this.#table(variants[0], at, APP_SCOPE);
    return { name, byTier: new Map([...(rows ?? []), ...byTier]), otherwise };
  }

  /** All rows of the tier table under one name; without a table, the module's limit. */
  #table(declared: DeclaredLimit, at: HandlerPlace | undefined, scope = APP_SCOPE): PlannedLimit {
    const { name, options, place } = declared;
    const { tiers } = this.registry;
    const { limit } = this.options;
    const row = (numbers: Limit, origin?: string) =>
      this.#settled({ ...numbers, name }, { ...options, scope }, place, APP_SCOPE, at, origin);
    if (tiers !== undefined) {
      const rows = this.options.tiers as Readonly<Record<string, Limit>>;
      const byTier = new Map(tiers.names.map((tier) => [tier, row(rows[tier], tierOrigin(tier))]));
      return { name, byTier, otherwise: byTier.get(tiers.defaultTier) as PlannedVariant };
    }
    if (limit !== undefined) {
      const own = options.name ?? limit.name ?? DEFAULT_NAME;
      return { name: own, byTier: undefined, otherwise: row({ ...limit, name: own }) };
    }
    throw new InvalidLimitError(
      `${place}: no numbers are given, and RateLimitModule has neither tiers nor limit to take them from: give { rate, capacity }, or register tiers`,
    );
  }

  #variant(declared: DeclaredLimit, at: HandlerPlace | undefined): PlannedVariant {
    const { source, name, options, place, numbersOf } = declared;
    if (source === 'numbers') {
      const variant = this.#settled({ ...options, name } as Limit, options, place, 'route', at);
      if (numbersOf === undefined) return variant;
      const { scope } = variant.scoped;
      const scopedBy = remembering((numbers: Limit) =>
        this.registry.inline({ ...numbers, name }, options, place, scope),
      );
      return { ...variant, scopedFor: (context) => whenThere(numbersOf(context), scopedBy) };
    }
    this.#named(name, place);
    const policy = this.options.policies?.[name] as RateLimitOptions & Limit;
    const merged = { ...policy, ...options };
    return this.#settled({ ...policy, name }, merged, place, name, at, policyOrigin(name));
  }

  #settled(
    numbers: Limit,
    options: RateLimitOptions & PolicyBehaviour,
    place: string,
    defaultScope: string,
    at: HandlerPlace | undefined,
    origin?: string,
  ): PlannedVariant {
    const scope = scopeAt(options.scope ?? defaultScope, at);
    const scoped = this.registry.inline(numbers, options, place, scope, origin);
    const { cost = 1, key = this.options.key ?? byIp(), skip, onLimit = 'reject' } = options;
    const maxWaitMs = onLimit === 'wait' ? (options.maxWaitMs ?? 0) : 0;
    if (typeof cost === 'number') checkCost(cost, scoped, place);
    const charges = chargesOutcome(options.chargeOn, place);
    return { scoped, key, cost, skip, onLimit, maxWaitMs, chargesOutcome: charges };
  }

  #named(name: string, place: string): void {
    try {
      this.registry.named(name);
    } catch (error) {
      throw atPlace(error, place);
    }
  }

  #known(tier: string, place: string): void {
    try {
      knownTier(tier, this.registry.tiers?.names ?? []);
    } catch (error) {
      throw atPlace(error, place);
    }
  }
}

function checkCost(cost: number, { policy: { limit, name } }: ScopedPolicy, place: string): void {
  if (priceOf(cost, limit) <= limit.capacity) return;
  throw new InvalidLimitError(
    `${place}: cost ${cost} is more than the capacity ${limit.capacityTokens} of ${shown(name)}: no call could pass`,
  );
}

/** Calls may bring any number of different numbers; beyond these the memory starts anew. */
const MOST_REMEMBERED = 1000;

function remembering(make: (limit: Limit) => ScopedPolicy): (limit: Limit) => ScopedPolicy {
  const made = new Map<string, ScopedPolicy>();
  return (limit) => {
    const key = `${limit.rate}/${limit.per}`;
    let found = made.get(key);
    if (found === undefined) {
      if (made.size >= MOST_REMEMBERED) made.clear();
      made.set(key, (found = make(limit)));
    }
    return found;
  };
}

/** The same error, saying where. */
function atPlace(error: unknown, place: string): unknown {
  if (error instanceof Error) error.message = `${place}: ${error.message}`;
  return error;
}
