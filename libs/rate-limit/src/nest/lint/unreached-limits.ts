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
    .filter((each) => each.plan.place.method === undefined && declaredNames(app, each).length > 0)
    .map(({ plan }) => plan.place.name);
  if (places.length === 0) return [];
  return [
    `@RateLimit on ${listed(places)} limits nothing: it is no HTTP route, and guards limit those only; ask RateLimiterService there`,
  ];
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
