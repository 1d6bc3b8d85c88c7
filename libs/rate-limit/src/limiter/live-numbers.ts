// Numbers of the module that change while it runs: every policy that was made from a row or a named policy follows it.
import type { Limit } from '../core/limit';
import { parsePolicy, type Policy, type PolicyBehaviour } from './policy';

/** What a policy was made from beside its numbers. */
interface Follower {
  readonly policy: Policy;
  readonly behaviour: PolicyBehaviour;
}

/** Policies by what their numbers come from: `tier pro`, `policy search`. */
export class LiveNumbers {
  readonly #followers = new Map<string, Follower[]>();

  constructor(private readonly defaults: PolicyBehaviour) {}

  follow(origin: string, policy: Policy, behaviour: PolicyBehaviour): void {
    const followers = this.#followers.get(origin);
    if (followers === undefined) this.#followers.set(origin, [{ policy, behaviour }]);
    else followers.push({ policy, behaviour });
  }

  /**
   * Gives other numbers to all that follow; charges that are under way keep theirs.
   * @throws InvalidLimitError; nothing was changed
   */
  change(origin: string, limit: Limit, place: string): void {
    const followers = this.#followers.get(origin) ?? [];
    const changed = followers.map(({ policy, behaviour }) =>
      parsePolicy({ ...limit, name: policy.name }, behaviour, this.defaults, place),
    );
    followers.forEach(({ policy }, i) => {
      const { limit: numbers, localLimit } = changed[i];
      Object.assign(policy, { limit: numbers, localLimit });
    });
  }
}
