// What is asked of buckets of one slot beside charging them, as script calls. The arithmetic of the answers is the core's;
// the scripts are its twins.
import type { Level } from '../../core/algorithms/algorithm';
import { underLimit } from '../in-force';
import type { Adjustment, BucketCharge, UnusedGrant } from '../rate-limit-store';
import type { RedisLike } from '../redis-like';
import { inForce } from './configuration-text';
import * as scripts from './lua.generated';
import { RedisScript } from './redis-script';
import { keysOf } from './take-batch';
import type { TakenCharge } from './take-in-turn';

const PEEK_SCRIPT = new RedisScript(scripts.peek.lua);
const ADJUST_SCRIPT = new RedisScript(scripts.adjust.lua);
const GIVE_BACK_SCRIPT = new RedisScript(scripts.giveBack.lua);

/** A charge as it is decided, by what is configured where something is, and the level in a time whose zero is now. */
export interface Seen {
  readonly charge: BucketCharge;
  readonly level: Level;
}

/** One round trip a call: all buckets of it have to be in one slot. */
export class RedisBuckets {
  /** @param givenUs the time for the scripts, for tests; '' = the server's */
  constructor(
    private readonly client: RedisLike,
    private readonly givenUs: () => number | '',
  ) {}

  async look(charges: readonly BucketCharge[]): Promise<Seen[]> {
    const args = this.#args(charges, () => []);
    const looked = (await PEEK_SCRIPT.run(this.client, keysOf(charges), args)) as unknown[];
    const [now, ...reply] = looked;
    return charges.map((charge, i) => {
      const [credits, atUs, previous, text] = reply.slice(4 * i, 4 * i + 4);
      const { limit, blockedUs } = inForce(String(text), Number(now));
      const level = {
        credits: Number(credits),
        atUs: Number(atUs),
        previous: Number(previous),
        blockedUs,
      };
      return { charge: underLimit(charge, limit), level };
    });
  }

  async giveBack(grants: readonly UnusedGrant[]): Promise<void> {
    const args = this.#args(grants, ({ price, startsAtUs }) => [price, startsAtUs]);
    await GIVE_BACK_SCRIPT.run(this.client, keysOf(grants), args);
  }

  /** Undoes grants that nobody heard of: as if they had not been, but for what was promised behind them since. */
  takeBack(grants: readonly TakenCharge[]): Promise<void> {
    // Below 0 it is such a grant for the script.
    return this.giveBack(grants.map((each) => ({ ...each, startsAtUs: -each.grantedForUs })));
  }

  async adjust(adjustments: readonly Adjustment[]): Promise<void> {
    const args = this.#args(adjustments, ({ credits }) => [credits]);
    await ADJUST_SCRIPT.run(this.client, keysOf(adjustments), args);
  }

  /** The time, then for each its limit and what else the script is told of it. */
  #args<T extends Pick<BucketCharge, 'limit'>>(
    all: readonly T[],
    more: (each: T) => number[],
  ): (string | number)[] {
    const args: (string | number)[] = [this.givenUs()];
    for (const each of all) {
      const { n, q, capacity, fingerprint } = each.limit;
      args.push(n, q, capacity, fingerprint, ...more(each));
    }
    return args;
  }
}
