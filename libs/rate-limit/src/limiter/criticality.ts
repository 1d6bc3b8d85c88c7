// Pure: how much a call matters, and how large a share of its kind is shed at a level of load.

/** From the last to be shed to the first. */
export const CRITICALITIES = ['critical', 'default', 'sheddable'] as const;

/** How much a call matters: `critical` is never shed, `sheddable` (test traffic, prefetches, exports) goes first. */
export type Criticality = (typeof CRITICALITIES)[number];

/** True for a name of {@link CRITICALITIES}. */
export function isCriticality(value: unknown): value is Criticality {
  return CRITICALITIES.includes(value as Criticality);
}

/**
 * The share of calls that is shed: 0 none, 1 all. One kind after the other: over the lower half of the levels those
 * that are sheddable, over the upper half, when none of these is left, those of the default kind too.
 *
 * @param level from 0 (no load to speak of) to 1
 */
export function shedShare(criticality: Criticality, level: number): number {
  if (criticality === 'critical') return 0;
  return Math.min(1, Math.max(0, criticality === 'sheddable' ? 2 * level : 2 * level - 1));
}
