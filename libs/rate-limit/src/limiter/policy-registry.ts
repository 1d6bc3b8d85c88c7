// The policies and tiers of a module by name, and the scopes in which they were used.
import type { BucketNamer, BucketPlace } from '../core/bucket-key';
import { InvalidLimitError, UnknownPolicyError } from '../core/errors';
import { type AlgorithmName, shown, type Limit } from '../core/limit';
import {
  type ConcurrencyLimit,
  type ConcurrencyOptions,
  parseConcurrency,
} from './concurrency-limit';
import { LiveNumbers } from './live-numbers';
import {
  DEFAULT_NAME,
  parsePolicy,
  scoped,
  type Policy,
  type PolicyBehaviour,
  type ScopedPolicy,
} from './policy';
import { knownTier, tierTable, type TierTable } from './tiers';

/** The scope of limits that belong to no single handler. */
export const APP_SCOPE = 'app';
/** Scopes chosen at run time are remembered up to this many; `reset(key)` then misses the rest. */
const MOST_PLACES = 10_000;

/** Where the numbers of a row come from, for those that follow it. */
export function tierOrigin(tier: string): string {
  return `tier ${tier}`;
}

/** The same for a named policy. */
export function policyOrigin(name: string): string {
  return `policy ${name}`;
}

/** What a registry is made from. */
export interface PolicyRegistryOptions extends PolicyBehaviour {
  readonly limit?: Limit;
  /** `scope`: where the policy's one bucket a key is; default its name. */
  readonly policies?: Readonly<Record<string, Limit & PolicyBehaviour & { scope?: string }>>;
  readonly tiers?: Readonly<Record<string, Limit>>;
  readonly defaultTier?: string;
}

/** Finds the policy that a name, a tier or plain numbers mean. Everything is checked at construction. */
export class PolicyRegistry {
  readonly tiers: TierTable | undefined;
  /** The module's own `limit`. */
  readonly limit: ScopedPolicy | undefined;
  readonly #policies = new Map<string, ScopedPolicy>();
  readonly #places = new Map<string, BucketPlace>();
  readonly #inline = new WeakMap<Limit, Policy>();
  /** Policies by name, with what was met first under it. */
  readonly #names = new Map<string, AlgorithmName>();
  readonly #tierNumbers: Record<string, Limit>;
  readonly #live: LiveNumbers;
  readonly #defaults: PolicyBehaviour;

  /** @throws InvalidLimitError naming option and value */
  constructor(
    options: PolicyRegistryOptions,
    private readonly namer: BucketNamer,
  ) {
    this.#defaults = options;
    this.#tierNumbers = { ...options.tiers };
    this.#live = new LiveNumbers(options);
    const { limit, policies = {}, tiers, defaultTier } = options;
    if (limit !== undefined)
      this.limit = this.inline(limit, {}, 'RateLimitModule: limit', APP_SCOPE);
    for (const [name, policy] of Object.entries(policies)) {
      const place = `RateLimitModule: policies.${name}`;
      if (policy.name !== undefined && policy.name !== name) {
        throw new InvalidLimitError(
          `${place}: name ${shown(policy.name)} differs from its key: leave the name out`,
        );
      }
      const scope = policy.scope ?? name;
      const numbers = { ...policy, name };
      this.#policies.set(name, this.inline(numbers, policy, place, scope, policyOrigin(name)));
    }
    if (tiers !== undefined) {
      const rows = new Map(
        Object.entries(tiers).map(([name, row]) => {
          const place = `RateLimitModule: tiers.${name}`;
          if (this.#policies.has(name)) {
            throw new InvalidLimitError(`${place}: ${shown(name)} is the name of a policy as well`);
          }
          const parsed = parsePolicy(row, {}, options, place);
          this.#live.follow(tierOrigin(name), parsed, {});
          return [name, parsed];
        }),
      );
      this.tiers = tierTable(rows, defaultTier);
      this.#remember(scoped(this.tiers.row(undefined), APP_SCOPE, namer));
    } else if (defaultTier !== undefined) {
      throw new InvalidLimitError(
        `RateLimitModule: defaultTier ${shown(defaultTier)} is set, but there are no tiers`,
      );
    }
  }

  /** The places in which buckets may be: those of the module, of registered handlers, and used ones. */
  get places(): Iterable<BucketPlace> {
    return this.#places.values();
  }

  get policyNames(): string[] {
    return [...this.#policies.keys()];
  }

  /** Names of all policies that were met so far, those of handlers included. */
  get knownNames(): string[] {
    return [...new Set([DEFAULT_NAME, ...this.#names.keys()])];
  }

  /** True for one of {@link knownNames}. */
  isKnown(policy: unknown): boolean {
    return policy === DEFAULT_NAME || this.#names.has(policy as string);
  }

  /** The name of what is configured for a key under a policy, whatever the scope. */
  configurationName(policy: string, key: string): string {
    return this.namer.place(policy, APP_SCOPE).configuration(key);
  }

  /** A key as part of a name of somebody else's: hashed where the names of buckets are. */
  tokenOf(key: string): string {
    return this.namer.token(key);
  }

  /** How a policy counts. */
  algorithmOf(policy: string): AlgorithmName {
    return this.#names.get(policy) ?? 'token-bucket';
  }

  /** The numbers of a tier as they were given. @throws UnknownPolicyError */
  tierNumbers(tier: string): Limit {
    return this.#tierNumbers[knownTier(tier, this.tiers?.names ?? [])];
  }

  /** Other numbers for a row of the tier table. @throws InvalidLimitError, UnknownPolicyError */
  setTier(tier: string, limit: Limit): void {
    knownTier(tier, this.tiers?.names ?? []);
    this.#change(tierOrigin(tier), limit, `setTier(${shown(tier)})`);
    this.#tierNumbers[tier] = { ...limit };
  }

  /** Other numbers for a named policy. @throws InvalidLimitError, UnknownPolicyError */
  setPolicy(name: string, limit: Limit): void {
    this.named(name);
    this.#change(policyOrigin(name), limit, `setPolicy(${shown(name)})`);
  }

  #change(origin: string, limit: Limit, place: string): void {
    const { name } = parsePolicy(limit, {}, this.#defaults, place);
    if (name !== DEFAULT_NAME) {
      throw new InvalidLimitError(`${place}: name ${shown(name)} cannot be changed: leave it out`);
    }
    this.#live.change(origin, limit, place);
  }

  /** @throws UnknownPolicyError listing the known names */
  named(name: string): ScopedPolicy {
    const policy = this.#policies.get(name);
    if (policy === undefined) {
      throw new UnknownPolicyError(
        `policy ${shown(name)} is not registered; known policies: ${this.policyNames.join(', ') || 'none'}`,
      );
    }
    return policy;
  }

  /** The tier's row in a scope. @throws UnknownPolicyError for a tier that is not registered */
  tier(tier: string, scope = APP_SCOPE): ScopedPolicy {
    knownTier(tier, this.tiers?.names ?? []);
    return this.in(scope, (this.tiers as TierTable).row(tier));
  }

  /**
   * Parses a limit that stands in code and places it.
   * @param origin the tier or the named policy that its numbers come from: it follows when they change
   * @throws InvalidLimitError
   */
  inline(
    limit: Limit,
    behaviour: PolicyBehaviour,
    place: string,
    scope: string,
    origin?: string,
  ): ScopedPolicy {
    const policy = parsePolicy(limit, behaviour, this.#defaults, place);
    if (origin !== undefined) this.#live.follow(origin, policy, behaviour);
    return this.in(scope, policy);
  }

  /** Parses a concurrency limit and places it. @throws InvalidLimitError */
  concurrency(options: ConcurrencyOptions, scope: string, place: string): ConcurrencyLimit {
    return parseConcurrency(options, scope, this.#defaults, this.namer, place);
  }

  /**
   * What the `limit` argument of a service call means; without one, the module's own limit, else
   * the default row of the tier table.
   * @throws InvalidLimitError, UnknownPolicyError
   */
  resolve(limit: Limit | string | { tier: string } | undefined, scope?: string): ScopedPolicy {
    if (typeof limit === 'string') return this.in(scope, this.named(limit));
    if (limit === undefined) return this.in(scope, this.#own());
    if (typeof limit === 'object' && limit !== null && 'tier' in limit) {
      return this.tier(limit.tier, scope);
    }
    let policy = typeof limit === 'object' && limit !== null ? this.#inline.get(limit) : undefined;
    if (policy === undefined) {
      policy = parsePolicy(limit, {}, this.#defaults, 'limit');
      // Only an object that nobody can change is safe to remember.
      if (Object.isFrozen(limit)) this.#inline.set(limit, policy);
    }
    return this.in(scope ?? APP_SCOPE, policy);
  }

  #own(): ScopedPolicy {
    if (this.limit !== undefined) return this.limit;
    if (this.tiers !== undefined) return this.in(APP_SCOPE, this.tiers.row(undefined));
    throw new InvalidLimitError(
      'no limit was given and RateLimitModule has neither limit nor tiers: pass one, e.g. { rate: 10, capacity: 20 }',
    );
  }

  /** The policy in a scope; a policy that is in one already stays there unless another is asked for. */
  in(scope: string | undefined, policy: Policy | ScopedPolicy): ScopedPolicy {
    if ('policy' in policy) {
      if (scope === undefined || scope === policy.scope) return policy;
      return this.in(scope, policy.policy);
    }
    return this.#remember(scoped(policy, scope ?? APP_SCOPE, this.namer));
  }

  #remember(policy: ScopedPolicy): ScopedPolicy {
    const { place } = policy;
    const { name, limit } = policy.policy;
    if (this.#names.size < MOST_PLACES && !this.#names.has(name)) {
      this.#names.set(name, limit.algorithm);
    }
    if (this.#places.size < MOST_PLACES) this.#places.set(place.name, place);
    return policy;
  }
}
