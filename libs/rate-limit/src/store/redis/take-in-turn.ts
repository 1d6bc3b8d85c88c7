// One call whose buckets live in several slots of a cluster: charged one slot after the other, and taken back when one
// of them refuses or is not heard of. Knows slots only by what they answer.
import { StoreUnavailableError } from '../../core/errors';
import type { BucketCharge, Outcome } from '../rate-limit-store';
import { allDone, inOrder, type SlotGroup } from './slot-groups';

/** What a server said of charges that were made together, and its clock then. */
export interface TimedOutcomes {
  readonly outcomes: readonly Outcome[];
  readonly clockUs: number;
}

/** A grant that nobody heard of, and the moment it was for, by the clock of its server. */
export interface TakenCharge extends BucketCharge {
  readonly grantedForUs: number;
}

/** The calls of one slot. */
export interface SlotCalls {
  /** Charges all, or none. */
  take(charges: readonly BucketCharge[]): Promise<TimedOutcomes>;
  /** What is there, and what each charge would be told; writes nothing. */
  look(charges: readonly BucketCharge[]): Promise<readonly Outcome[]>;
  /** Undoes grants, less what was promised behind them meanwhile. */
  takeBack(grants: readonly TakenCharge[]): Promise<void>;
}

/** All or nothing over several slots, as far as that goes without a transaction. For one call: runs once. */
export class TakeInTurn {
  /** Granted, and neither answered nor taken back yet. */
  readonly #taken: TakenCharge[][] = [];
  #gaveUp = false;

  constructor(
    private readonly groups: readonly SlotGroup<BucketCharge>[],
    private readonly slots: SlotCalls,
  ) {}

  /**
   * One outcome for each charge, in the order of the call. After a refusal nothing is taken, and the outcomes are those
   * that one call would have given: the other buckets are looked at.
   *
   * @throws what a slot throws; what others granted before was taken back where they could be reached
   */
  async run(): Promise<Outcome[]> {
    const answers: (readonly Outcome[])[] = [];
    try {
      for (const group of this.groups) {
        const { outcomes, clockUs } = await this.slots.take(group.members);
        answers.push(outcomes);
        if (!outcomes.every(({ granted }) => granted)) return await this.#refused(answers);
        this.#taken.push(
          group.members.map((charge, i) => ({
            ...charge,
            grantedForUs: clockUs + outcomes[i].waitUs,
          })),
        );
        if (this.#gaveUp) throw new StoreUnavailableError('nobody waits for this charge any more');
      }
    } catch (error) {
      // The first error tells more than what comes of it.
      await this.#takeBack().catch(() => undefined);
      throw error;
    }
    return inOrder(this.groups, answers);
  }

  /** Nobody waits any more: takes back what was granted, and what an answer still to come grants. */
  giveUp(): void {
    this.#gaveUp = true;
    void this.#takeBack().catch(() => undefined);
  }

  /** @param answers the last one is the refusal */
  async #refused(answers: readonly (readonly Outcome[])[]): Promise<Outcome[]> {
    const refused = answers.length - 1;
    const takenBack = this.#takeBack();
    return inOrder(
      this.groups,
      await allDone(
        this.groups.map(async ({ members }, i) => {
          if (i === refused) return answers[i];
          if (i < refused) await takenBack;
          return this.slots.look(members);
        }),
      ),
    );
  }

  /** Once each: what is taken back is forgotten. Of slots that cannot be reached it stays taken. */
  async #takeBack(): Promise<void> {
    const taken = this.#taken.splice(0);
    await allDone(
      taken.map((grants) =>
        this.slots.takeBack(grants).catch((error: unknown) => {
          if (!StoreUnavailableError.is(error)) throw error;
        }),
      ),
    );
  }
}
