// Global guards run first: a limit by user that one of ours charges there comes before the guard that finds the user.
import { shown } from '../../core/limit';
import type { PlannedLimit } from '../plan';
import { variantsOf } from '../on-limit';
import { type BoundGuard, chargesLimit } from './bound-guards';
import { isByUser, mentionsUser, setsUser } from './function-source';
import { type GuardedHandler, type Linted, type LintRule, listed } from './lint-rule';

const AUTHENTICATES =
  /auth(?!ori[sz])|jwt|passport|session|log-?in|bearer|token|oidc|saml|identity|user/i;

export const userBeforeAuth: LintRule = (app) => {
  const places = new Map<string, { ours: string; theirs: string; at: string[] }>();
  for (const handler of app.handlers) {
    for (const { name, what } of byUser(app, handler)) {
      const [ours, theirs] = inWrongOrder(handler.guards, name) ?? [];
      if (ours === undefined || theirs === undefined) continue;
      const entry = places.get(theirs.type.name) ?? {
        ours: `${ours.type.name} (${ours.at})`,
        theirs: `${theirs.type.name} (${theirs.at})`,
        at: [],
      };
      entry.at.push(`${what} of ${handler.plan.place.name}`);
      places.set(theirs.type.name, entry);
    }
  }
  return [...places.values()].map(
    ({ ours, theirs, at }) =>
      `${listed(at)}: by the user, but ${ours} runs before ${theirs}, so nobody is known yet. Bind the guard that authenticates first (APP_GUARD providers run in their order, before those of classes and methods); what needs no user may be charged before it by RateLimitGuard.only('…')`,
  );
};

/** What of a handler depends on who is logged in. */
function byUser({ options }: Linted, { plan }: GuardedHandler) {
  const limits = plan.limits.flatMap((limit) => {
    const { name } = limit;
    if (variantsOf(limit).some(({ key }) => isByUser(key))) return { name, what: shown(name) };
    const tiersAskUser = options.tierOf !== undefined && mentionsUser(options.tierOf);
    return hasTiers(limit) && tiersAskUser ? { name, what: `the tier for ${shown(name)}` } : [];
  });
  const slots = plan.slots.filter(({ key }) => isByUser(key));
  return [
    ...limits,
    ...slots.map(({ limit: { name } }) => ({ name, what: `the concurrency limit ${shown(name)}` })),
  ];
}

function hasTiers({ byTier }: PlannedLimit): boolean {
  return byTier !== undefined;
}

/** The guard that charges a limit, and one behind it that authenticates where none before it does. */
function inWrongOrder(guards: readonly BoundGuard[], limit: string) {
  const at = guards.findIndex((guard) => chargesLimit(guard, limit));
  if (at === -1) return undefined;
  const authenticates = ({ type, isOurs }: BoundGuard) =>
    isOurs === false && (AUTHENTICATES.test(type.name) || setsUser(type));
  if (guards.slice(0, at).some(authenticates)) return undefined;
  const theirs = guards.slice(at + 1).find(authenticates);
  return theirs && ([guards[at], theirs] as const);
}
