// Pure: which declared limits hold for a handler. The nearest declaration of a name wins.
import type { DeclaredLevel } from './declared-level';
import type { DeclaredLimit } from './declared-limit';

/** Tier variants of one name, together. */
export type Variants = readonly DeclaredLimit[];

/** What the module adds. */
export interface ModuleLimits {
  /** Charged besides. */
  readonly always: ReadonlyMap<string, Variants>;
  /** For handlers without a decorator. */
  readonly undecorated: ReadonlyMap<string, Variants>;
}

/** The limits of a handler, and whether a decorator had a say. */
export interface MergedLimits {
  readonly limits: readonly Variants[];
  readonly decorated: boolean;
}

/**
 * Walks from the outermost level to the innermost: a level's limits join those before it and replace
 * those of the same name (all tier variants of it); a named skip removes that name; a bare skip
 * removes everything, until an inner level limits again. The module's own limits lie outside of all:
 * a name declared or skipped by a decorator replaces theirs.
 */
export function mergedLimits(
  levels: readonly DeclaredLevel[],
  { always, undecorated }: ModuleLimits,
): MergedLimits {
  const own = new Map<string, Variants>();
  const skipped = new Set<string>();
  let [limited, exempt] = [false, false];
  for (const level of levels) {
    if (level.skipsAll) {
      own.clear();
      [limited, exempt] = [false, true];
    }
    for (const name of level.skips) {
      own.delete(name);
      skipped.add(name);
    }
    for (const [name, variants] of level.limits) {
      own.set(name, variants);
      skipped.delete(name);
      [limited, exempt] = [true, false];
    }
  }
  if (exempt) return { limits: [], decorated: true };
  const outer = (table: ReadonlyMap<string, Variants>) =>
    [...table].filter(([name]) => !own.has(name) && !skipped.has(name));
  const all = [...outer(always), ...(limited ? own : outer(undecorated))];
  return { limits: all.map(([, variants]) => variants), decorated: limited };
}
