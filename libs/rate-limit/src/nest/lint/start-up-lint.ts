// Looks the application over when it starts, and says what is probably a mistake and what to do about it. Never stops the
// start, and says everything once.
import { Inject, Injectable, Logger } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import type { RateLimitStore } from '../../store/rate-limit-store';
import { PlanTable } from '../plan-table';
import { RATE_LIMIT_OPTIONS, RATE_LIMIT_STORE } from '../rate-limit.constants';
import type { RateLimitModuleOptions } from '../rate-limit.options';
import { boundGuards } from './bound-guards';
import { evictingRedis } from './evicting-redis';
import { guardBoundTwice } from './guard-bound-twice';
import type { Linted, LintRule } from './lint-rule';
import { noBurst } from './no-burst';
import { oneKey } from './one-key';
import { redisClient } from './redis-client';
import { tiersByIp } from './tiers-by-ip';
import { unreachedLimits } from './unreached-limits';
import { userBeforeAuth } from './user-before-auth';

/** All rules. What only calls can show is watched by `UserWatch` and `ProxyWatch`. */
const RULES: readonly LintRule[] = [
  guardBoundTwice,
  userBeforeAuth,
  unreachedLimits,
  noBurst,
  tiersByIp,
  oneKey,
  redisClient,
  evictingRedis,
];

/** What was said in an application: several registrations of the module see some of the same. */
const said = new WeakMap<ApplicationConfig, Set<string>>();

/** The lint of one registration of the module. */
@Injectable()
export class StartUpLint {
  readonly #logger = new Logger('RateLimitModule');

  constructor(
    @Inject(RATE_LIMIT_OPTIONS) private readonly options: RateLimitModuleOptions,
    @Inject(RATE_LIMIT_STORE) private readonly store: RateLimitStore,
    @Inject(PlanTable) private readonly plans: PlanTable,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
  ) {}

  /** When everything is bound: guards may be added until the application starts. */
  async run(): Promise<void> {
    const app: Linted = {
      options: this.options,
      store: this.store,
      always: new Set(this.plans.planner.alwaysNames),
      throttlers: new Set(this.plans.planner.throttlerNames),
      handlers: this.plans.handlers.map(([type, plan]) => ({
        type,
        plan,
        guards: boundGuards(type, plan.handler, this.config),
      })),
    };
    for (const rule of RULES) {
      try {
        for (const line of await rule(app)) this.#warn(line);
      } catch (error) {
        // A warning that cannot be worked out is no reason not to start.
        this.#logger.debug(`a check of the start failed: ${String(error)}`);
      }
    }
  }

  #warn(line: string): void {
    const before = said.get(this.config) ?? new Set();
    if (before.has(line)) return;
    said.set(this.config, before.add(line));
    this.#logger.warn(line);
  }
}
