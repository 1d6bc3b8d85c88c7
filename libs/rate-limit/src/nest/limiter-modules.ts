// Which RateLimitModule a module of the application sees: its own import before a global one.
import type { ModulesContainer } from '@nestjs/core';
import { InvalidLimitError } from '../core/errors';
import { RATE_LIMIT_OPTIONS } from './rate-limit.constants';

/** A module as Nest's container keeps it. */
export type AppModule = ModulesContainer extends Map<string, infer M> ? M : never;

/** All registrations of RateLimitModule. @throws InvalidLimitError when two of them are global */
export function limiterModules(modules: ModulesContainer): AppModule[] {
  const found = [...modules.values()].filter(isLimiter);
  if (found.filter((module) => module.isGlobal).length > 1) {
    throw new InvalidLimitError(
      'RateLimitModule: it is imported twice as a global module, and a guard could only ask one of them: import it once, or set isGlobal: false and import each where it is meant',
    );
  }
  return found;
}

/** The registration that `module` sees; `undefined` when it sees none. */
export function limiterSeenBy(module: AppModule): AppModule | undefined {
  const seen = new Set<AppModule>();
  // Nest adds the global modules behind the imports that a module declares.
  const queue = [...module.imports];
  for (const each of queue) {
    if (seen.has(each)) continue;
    seen.add(each);
    if (isLimiter(each)) return each;
    queue.push(...[...each.imports].filter((inner) => each.exports.has(inner.metatype)));
  }
  return undefined;
}

function isLimiter(module: AppModule): boolean {
  return module.providers.has(RATE_LIMIT_OPTIONS);
}
