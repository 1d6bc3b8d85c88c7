// The levels of lanes as this process saw them last. They stand in for buckets that Redis lost.
import type { Lane } from './lane';

/** Lanes remembered; past that the oldest are forgotten. */
const MOST_LANES = 10_000;

/**
 * A bucket that is gone counts as full, so losing Redis' data would let a second burst through. The
 * scripts are told the level that this process saw last and hold a lost bucket to it.
 */
export class SeenLevels {
  readonly #levels = new Map<string, readonly [credits: number, atUs: number, unit: number]>();

  /** Arguments for a script; empty where nothing was seen. */
  of({ token, bucket: [, q] }: Lane): readonly (number | '')[] {
    const level = this.#levels.get(token);
    return level === undefined || level[2] !== q ? ['', ''] : [level[0], level[1]];
  }

  saw({ token, bucket: [, q] }: Lane, credits: number, atUs: number): void {
    this.#levels.delete(token);
    this.#levels.set(token, [credits, atUs, q]);
    if (this.#levels.size > MOST_LANES) {
      const [oldest] = this.#levels.keys();
      this.#levels.delete(oldest);
    }
  }
}
