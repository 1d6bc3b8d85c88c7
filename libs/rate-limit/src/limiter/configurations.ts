// Limits that are changed by hand for one key, while everything runs: other numbers, or a block. Framework-free.
import { InvalidLimitError, UnknownPolicyError, UnsupportedOperationError } from '../core/errors';
import { parseLimit, shown, type Limit } from '../core/limit';
import type { Configuration, ConfigurationStore } from '../store/configuration-store';
import { DEFAULT_NAME } from './policy';
import type { PolicyRegistry } from './policy-registry';

/** Which policy of a key a configuration is for. */
export interface ConfigurationOptions {
  /** @default 'default': limits that were given no name */
  policy?: string;
}

/** How long a configured limit holds, and why. */
export interface ConfigureOptions extends ConfigurationOptions {
  /**
   * Milliseconds after which the policy's own numbers hold again; positive, at most 100 years.
   * @default until `clearConfiguration`
   */
  ttlMs?: number;
  /** For whoever reads `configurations` later; at most 500 characters. */
  reason?: string;
}

/** What is configured for a key under one policy. */
export interface PolicyConfiguration extends Configuration {
  readonly policy: string;
}

const MOST_MS = 100 * 365.25 * 86_400_000;
const LONGEST_REASON = 500;

/** Sets, ends and tells what is configured for keys. One truth for all instances on one store. */
export class Configurations {
  constructor(
    private readonly store: ConfigurationStore | undefined,
    private readonly registry: PolicyRegistry,
  ) {}

  /** @throws InvalidLimitError, UnknownPolicyError, UnsupportedOperationError, StoreUnavailableError */
  async configure(
    key: string,
    limit: Limit | { tier: string },
    options: ConfigureOptions,
  ): Promise<void> {
    const policy = this.#policyOf(options, 'configure');
    const { ttlMs = Infinity, reason } = options;
    if (ttlMs !== Infinity) checkMs(ttlMs, 'configure: ttlMs');
    if (reason !== undefined && (typeof reason !== 'string' || reason.length > LONGEST_REASON)) {
      throw new InvalidLimitError(
        `configure: reason ${shown(reason)} is not a text of at most ${LONGEST_REASON} characters`,
      );
    }
    const numbers = this.#numbers(limit, policy);
    await this.#store.configure(this.#name(policy, key), { limit: numbers, reason }, ttlMs);
  }

  /** Ends a configured limit; the policy's own numbers hold again. */
  async clear(key: string, options: ConfigurationOptions): Promise<void> {
    const policy = this.#policyOf(options, 'clearConfiguration');
    await this.#store.clear(this.#name(policy, key));
  }

  /** What is in force for a key, under the policies known in this process. */
  async all(key: string): Promise<PolicyConfiguration[]> {
    const policies = this.registry.knownNames;
    const found = await this.#store.read(policies.map((policy) => this.#name(policy, key)));
    return found
      .map((configuration, i) => ({ policy: policies[i], ...configuration }))
      .filter((each) => each.limit !== undefined || each.blockedUntilMs !== undefined);
  }

  async block(key: string, policy: string, ms: number): Promise<void> {
    checkMs(ms, 'block: ms');
    await this.#store.block(this.#name(policy, key), Math.ceil(ms));
  }

  async unblock(key: string, policy: string): Promise<void> {
    await this.#store.block(this.#name(policy, key), 0);
  }

  get #store(): ConfigurationStore {
    if (this.store !== undefined) return this.store;
    throw new UnsupportedOperationError(
      'the store of RateLimitModule has no configurations: give it some, or use redis',
    );
  }

  #policyOf({ policy = DEFAULT_NAME }: ConfigurationOptions, place: string): string {
    if (this.registry.isKnown(policy)) return policy;
    throw new UnknownPolicyError(
      `${place}: policy ${shown(policy)} is not known; known policies: ${this.registry.knownNames.join(', ')}`,
    );
  }

  #numbers(limit: Limit | { tier: string }, policy: string): Limit {
    if (typeof limit === 'object' && limit !== null && 'tier' in limit) {
      return this.registry.tierNumbers(limit.tier);
    }
    const own = this.registry.algorithmOf(policy);
    const asked =
      typeof limit === 'object' && limit !== null ? { algorithm: own, ...limit } : limit;
    parseLimit(asked, 'configure: limit');
    const { rate, per, capacity, algorithm, name } = asked;
    if (name !== undefined && name !== policy) {
      throw new InvalidLimitError(
        `configure: name ${shown(name)} differs from the policy ${shown(policy)}: leave the name out`,
      );
    }
    return { rate, per, capacity, ...(algorithm !== 'token-bucket' && { algorithm }) };
  }

  #name(policy: string, key: string): string {
    return this.registry.configurationName(policy, key);
  }
}

function checkMs(ms: unknown, what: string): void {
  if (typeof ms === 'number' && ms > 0 && ms <= MOST_MS) return;
  throw new InvalidLimitError(
    `${what} ${shown(ms)} is not a positive number of ms, at most 100 years`,
  );
}
