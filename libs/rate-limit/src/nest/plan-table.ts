// The plans of all handlers, by class and handler. Made at start-up, so that what is wrong stops the start.
import { Inject, Injectable, type Type } from '@nestjs/common';
import { PATH_METADATA } from '@nestjs/common/constants';
import { ApplicationConfig, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { InvalidLimitError } from '../core/errors';
import { isDeclared } from './declared-level';
import { handlerPlace, modulePathOf } from './handler-place';
import { limiterModules, limiterSeenBy, type AppModule } from './limiter-modules';
import type { Plan } from './plan';
import { Planner } from './planner';

/** A class with handlers, and the modules that it stands in. */
interface Host {
  readonly isController: boolean;
  readonly modules: AppModule[];
}

/** Plans by class and handler. The class is the one that Nest made, so inherited handlers differ. */
@Injectable()
export class PlanTable {
  readonly #plans = new Map<Type, Map<object, Plan>>();
  readonly #foreign = new Map<Type, AppModule>();
  readonly #scanner = new MetadataScanner();
  #explored = false;

  constructor(
    @Inject(Planner) readonly planner: Planner,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
  ) {}

  /** The plans of all handlers that the start finds, and of those met since. */
  get plans(): Plan[] {
    this.explore();
    return [...this.#plans.values()].flatMap((plans) => [...plans.values()]);
  }

  /** The same, with the classes of the handlers. */
  get handlers(): (readonly [type: Type, plan: Plan])[] {
    this.explore();
    return [...this.#plans].flatMap(([type, plans]) =>
      [...plans.values()].map((plan) => [type, plan] as const),
    );
  }

  /** The other registration of the module that a class belongs to; `undefined`: none, it is ours. */
  foreignOwner(type: Type): AppModule | undefined {
    return this.#foreign.size === 0 ? undefined : this.#foreign.get(type);
  }

  /** What any module of the application provides under a token. */
  provided<T>(token: symbol): T | undefined {
    for (const { providers } of this.modules.values()) {
      const provider = providers.get(token);
      if (provider !== undefined) return provider.instance as T;
    }
    return undefined;
  }

  /** The plan of a handler. One that the start did not find is planned now. */
  planOf(type: Type, handler: object): Plan {
    const plan = this.#plans.get(type)?.get(handler);
    return plan ?? this.#add(type, (handler as { name?: string }).name ?? '', handler);
  }

  /**
   * Plans the handlers of all controllers, and the decorated methods of providers, that see this
   * registration of the module. Does nothing the second time.
   *
   * @throws InvalidLimitError, UnknownPolicyError, UnsupportedOperationError naming the handler
   */
  explore(): void {
    if (this.#explored) return;
    this.#explored = true;
    const limiters = limiterModules(this.modules);
    for (const [type, host] of this.#hosts()) {
      const owner = host.modules.map(limiterSeenBy).find((seen) => seen !== undefined);
      // With one registration all is ours: a guard bound for the whole application sees everything.
      if (limiters.length > 1 && owner !== undefined && !this.#isOurs(owner)) {
        this.#foreign.set(type, owner);
      } else if (limiters.length === 1 || owner !== undefined) {
        this.#exploreHost(type, host);
      }
    }
    this.planner.checkSkips();
    this.#checkRoutes();
  }

  #isOurs(module: AppModule): boolean {
    return module.providers.get(PlanTable)?.instance === this;
  }

  /** Classes with the modules they stand in, each class once. */
  #hosts(): Map<Type, Host> {
    const hosts = new Map<Type, Host>();
    for (const module of this.modules.values()) {
      for (const isController of [true, false]) {
        const wrappers = isController ? module.controllers : module.providers;
        for (const { metatype, inject } of wrappers.values()) {
          // A provider with `inject` is a factory, not a class.
          if (typeof metatype !== 'function' || Array.isArray(inject) || !metatype.prototype)
            continue;
          const host = hosts.get(metatype as Type);
          if (host === undefined) hosts.set(metatype as Type, { isController, modules: [module] });
          else host.modules.push(module);
        }
      }
    }
    return hosts;
  }

  #exploreHost(type: Type, { isController, modules }: Host): void {
    const prototype = type.prototype as Record<string, object>;
    for (const method of this.#scanner.getAllMethodNames(prototype)) {
      const handler = prototype[method];
      const isRoute = isController && Reflect.hasMetadata(PATH_METADATA, handler);
      if (isRoute || isDeclared(handler)) this.#add(type, method, handler, modules);
    }
  }

  #add(type: Type, method: string, handler: object, modules: readonly AppModule[] = []): Plan {
    const modulePaths = modules.map(
      ({ metatype }) => modulePathOf(metatype, this.modules.applicationId) ?? '',
    );
    const defaultVersion = this.config.getVersioning()?.defaultVersion;
    const place = handlerPlace(type, method, handler, {
      modulePaths: [...new Set(modulePaths)],
      defaultVersion,
    });
    const plan = this.planner.plan(type, handler, place);
    const plans = this.#plans.get(type) ?? new Map<object, Plan>();
    this.#plans.set(type, plans.set(handler, plan));
    return plan;
  }

  /** @throws InvalidLimitError when two handlers would share the buckets of their route */
  #checkRoutes(): void {
    const byRoute = new Map<string, Plan>();
    for (const plan of this.plans) {
      if (!usesRouteScope(plan)) continue;
      const other = byRoute.get(plan.place.route);
      if (other !== undefined) {
        throw new InvalidLimitError(
          `${plan.place.name}: it is "${plan.place.route}" as is ${other.place.name}, so they would share buckets: give one of their limits a scope of its own`,
        );
      }
      byRoute.set(plan.place.route, plan);
    }
  }
}

function usesRouteScope({ limits, place }: Plan): boolean {
  return limits.some(({ byTier, otherwise }) =>
    [...(byTier?.values() ?? []), otherwise].some(({ scoped }) => scoped.scope === place.route),
  );
}
