// Pure: which buckets of one call a Redis Cluster can reach together, and in which order to ask for the others.
import { ratePerSecond } from '../../core/limit';
import type { BucketCharge } from '../rate-limit-store';

/** What of a call lies in one slot. */
export interface SlotGroup<T> {
  readonly members: readonly T[];
  /** Where each member stands in the call. */
  readonly at: readonly number[];
}

/** The part of a key that chooses its slot: what is between the first `{` and the next `}`, unless that is nothing. */
export function hashTag(key: string): string {
  const from = key.indexOf('{') + 1;
  const to = key.indexOf('}', from);
  return from > 0 && to > from ? key.slice(from, to) : key;
}

/** Those of one hash tag together, in the order of the call. Different tags may share a slot: then it is one call more. */
export function bySlot<T extends { readonly bucket: string }>(call: readonly T[]): SlotGroup<T>[] {
  const groups = new Map<string, { members: T[]; at: number[] }>();
  call.forEach((each, i) => {
    const tag = hashTag(each.bucket);
    const group = groups.get(tag);
    if (group === undefined) groups.set(tag, { members: [each], at: [i] });
    else {
      group.members.push(each);
      group.at.push(i);
    }
  });
  return [...groups.values()];
}

/** Values of groups, back in the order of the call. */
export function inOrder<T>(
  groups: readonly SlotGroup<unknown>[],
  values: readonly (readonly T[])[],
): T[] {
  const all: T[] = [];
  groups.forEach(({ at }, g) => at.forEach((place, i) => (all[place] = values[g][i])));
  return all;
}

/** Waits for every one of them, also when one fails: none is left behind. @throws the first error */
export async function allDone<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}

/**
 * The most specific first: the group with the least rate, of equal ones that with the least capacity, then the first of
 * the call. A limit of one caller is below one that many share, so whoever is refused by his own numbers never touches
 * what others need.
 */
export function mostSpecificFirst<T extends BucketCharge>(
  groups: readonly SlotGroup<T>[],
): SlotGroup<T>[] {
  const numbers = ({ members }: SlotGroup<T>) =>
    members
      .map(({ limit }) => [ratePerSecond(limit), limit.capacityTokens] as const)
      .reduce((a, b) => (compare(a, b) <= 0 ? a : b));
  return [...groups].sort((a, b) => compare(numbers(a), numbers(b)));
}

function compare(a: readonly [number, number], b: readonly [number, number]): number {
  return a[0] - b[0] || a[1] - b[1];
}
