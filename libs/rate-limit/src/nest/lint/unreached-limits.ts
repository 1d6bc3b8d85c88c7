// A decorator limits nothing by itself: a guard has to look at the call.
import { chargesLimit } from './bound-guards';
import { type GuardedHandler, type Linted, type LintRule, listed } from './lint-rule';

export const unreachedLimits: LintRule = (app) => [
  ...byNobody(app),
  ...elsewhere(app),
  ...always(app),
];

function byNobody(app: Linted): string[] {
  const places = app.handlers
    .filter(({ plan }) => plan.place.method !== undefined)
    .flatMap((handler) =>
      declaredNames(app, handler)
        .filter((name) => !handler.guards.some((guard) => chargesLimit(guard, name)))
        .map((name) => `${JSON.stringify(name)} of ${handler.plan.place.name}`),
    );
  if (places.length === 0) return [];
  return [
    `no guard charges ${listed(places)}, so calls are not limited: add { provide: APP_GUARD, useClass: RateLimitGuard } to the providers of the root module, or @UseGuards(RateLimitGuard)`,
  ];
}

function elsewhere(app: Linted): string[] {
  const places = app.handlers
    .filter(({ plan }) => plan.place.method === undefined)
    .filter((each) => declaredNames(app, each).some((name) => !isReached(each, name)))
    .map(({ plan }) => plan.place.name);
  if (places.length === 0) return [];
  return [
    `@RateLimit on ${listed(places)} limits nothing: no RateLimitGuard looks at these calls. Bind it by @UseGuards(RateLimitGuard) there (a global guard does not reach gateways), or ask RateLimiterService`,
  ];
}

/** What the packages of other transports write on their handlers. */
const BY_ANY_GUARD = ['graphql:resolver_type', 'graphql:resolve_property', 'microservices:pattern'];
const BY_OWN_GUARD = 'websockets:message_mapping';

function isReached({ plan: { handler }, guards }: GuardedHandler, name: string): boolean {
  const isGateway = Reflect.hasMetadata(BY_OWN_GUARD, handler);
  if (!isGateway && !BY_ANY_GUARD.some((key) => Reflect.hasMetadata(key, handler))) return false;
  return guards.some(
    (guard) => chargesLimit(guard, name) && !(isGateway && guard.at === 'globally'),
  );
}

function always({ always: names, handlers }: Linted): string[] {
  if (names.size === 0 || handlers.length === 0) return [];
  const idle = [...names].filter(
    (name) => !handlers.some(({ guards }) => guards.some((guard) => chargesLimit(guard, name))),
  );
  if (idle.length === 0) return [];
  return [
    `RateLimitModule: always ${listed(idle)} is charged nowhere: no route has a RateLimitGuard; add { provide: APP_GUARD, useClass: RateLimitGuard } to the providers of the root module`,
  ];
}

/** Limits that a decorator gives the handler. */
function declaredNames({ always: names, throttlers }: Linted, { plan }: GuardedHandler): string[] {
  if (!plan.decorated) return [];
  return plan.limits
    .map(({ name }) => name)
    .filter((name) => !names.has(name) && !throttlers.has(name));
}
