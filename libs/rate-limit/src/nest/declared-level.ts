// One level of declarations: a class, or a method. Reads the notes of the decorators and checks them together.
import { InvalidLimitError } from '../core/errors';
import { shown } from '../core/limit';
import { declaredSlots } from './declared-slots';
import { declaredLimit, type DeclaredLimit } from './declared-limit';
import { CONCURRENCY_METADATA, RATE_LIMITS_METADATA, SKIPS_METADATA } from './rate-limit.constants';
import type { ConcurrencyLimitOptions } from './rate-limit.options';
import { ownNotes } from './recording';

/** What stands on one class or method. */
export interface DeclaredLevel {
  /** By name; several of one name are tier variants. */
  readonly limits: ReadonlyMap<string, readonly DeclaredLimit[]>;
  /** Concurrency limits by name. */
  readonly slots: ReadonlyMap<string, ConcurrencyLimitOptions>;
  /** A bare @SkipRateLimit. */
  readonly skipsAll: boolean;
  readonly skips: readonly string[];
  readonly place: string;
}

/** True when a decorator of ours stands on this class or function itself. */
export function isDeclared(target: object): boolean {
  return [RATE_LIMITS_METADATA, CONCURRENCY_METADATA, SKIPS_METADATA].some(
    (key) => ownNotes(key, target).length > 0,
  );
}

/** The level of a class or method. @throws InvalidLimitError, UnsupportedOperationError */
export function declaredLevel(target: object, place: string): DeclaredLevel {
  const limits = byName(
    ownNotes(RATE_LIMITS_METADATA, target).map((args) => declaredLimit(args, place)),
  );
  const notes = ownNotes(SKIPS_METADATA, target);
  const level: DeclaredLevel = {
    limits,
    slots: declaredSlots(ownNotes(CONCURRENCY_METADATA, target), place),
    skipsAll: notes.some((names) => names.length === 0),
    skips: notes.flat().map((name) => checkedName(name, place)),
    place,
  };
  const contradiction = level.skipsAll
    ? [...limits.keys()][0]
    : level.skips.find((name) => limits.has(name));
  if (contradiction !== undefined) {
    throw new InvalidLimitError(
      `${place}: ${shown(contradiction)} is both limited by @RateLimit and exempted by @SkipRateLimit here: keep one of them`,
    );
  }
  return level;
}

/** The levels of a class: its base classes before it. */
export function classLevels(type: object): DeclaredLevel[] {
  const levels: DeclaredLevel[] = [];
  for (
    let each: object | null = type;
    typeof each === 'function' && each !== Function.prototype;
    each = Object.getPrototypeOf(each) as object | null
  ) {
    if (isDeclared(each)) levels.unshift(declaredLevel(each, each.name));
  }
  return levels;
}

/**
 * Limits by name, in order.
 * @throws InvalidLimitError for two of one name that are no variants for different tiers
 */
export function byName(
  limits: readonly DeclaredLimit[],
): ReadonlyMap<string, readonly DeclaredLimit[]> {
  const groups = new Map<string, DeclaredLimit[]>();
  for (const limit of limits) {
    const { name, place } = limit;
    const tiers: readonly (string | undefined)[] = limit.tiers ?? [undefined];
    const group = groups.get(name) ?? [];
    const known = group.flatMap<string | undefined>((other) => other.tiers ?? [undefined]);
    for (const tier of tiers) {
      if (!known.includes(tier)) continue;
      throw new InvalidLimitError(
        `${place}: two limits have the name ${shown(name)}${tier === undefined ? '' : ` and the tier ${shown(tier)}`}: give one of them another name`,
      );
    }
    groups.set(name, [...group, limit]);
  }
  return groups;
}

function checkedName(name: unknown, place: string): string {
  if (typeof name === 'string' && name !== '') return name;
  throw new InvalidLimitError(
    `${place}: @SkipRateLimit(${shown(name)}) does not name a limit: give names, or nothing to exempt from all`,
  );
}
