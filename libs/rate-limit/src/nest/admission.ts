// What becomes of a call whose limits do more than reject: reject before defer before wait before allow. Knows no
// queue and no HTTP.
import type { CombinedDecision, Decision } from '../core/decision';
import { isBlock, letPass } from '../limiter/charge';
import type { Hold } from '../limiter/hold';
import type { RateLimiter } from '../limiter/rate-limiter';
import type { CallCharge } from './call-charges';
import { isDeferTo } from './on-limit';
import type { Interruption, Waiters } from './waiters';

/** What was decided of a call. */
export interface Admission {
  readonly allowed: boolean;
  /** Of the charges, in order. */
  readonly decisions: readonly { readonly charge: CallCharge; readonly decision: Decision }[];
  /** The charge that was refused and is to be paid by a job instead. */
  readonly deferred: CallCharge | undefined;
}

/** Decides calls some of whose limits wait or defer. */
export class Admissions {
  constructor(
    private readonly limiter: Pick<RateLimiter, 'ask' | 'hold' | 'tell'>,
    private readonly waiters: Pick<Waiters, 'checkRoom' | 'wait'>,
  ) {}

  /**
   * Charges all limits together; none of them shadows. When only limits that wait or defer refuse, those are set aside, one
   * by one, and the others are charged together without them: a limit that waits is charged for a
   * later moment, which is slept out before the others are asked; one that defers is not charged here.
   * A later refusal gives back what was charged for a later moment.
   *
   * @throws TooManyWaitersError, LimiterClosedError; what `interruption` ends a wait with
   */
  async admit(charges: readonly CallCharge[], interruption: Interruption): Promise<Admission> {
    const decisions = new Map<CallCharge, Decision>();
    let open = charges;
    let deferred: CallCharge | undefined;
    let held: Hold | undefined;
    const answer = (allowed: boolean): Admission => ({
      allowed,
      decisions: charges.flatMap((charge) => {
        const decision = decisions.get(charge);
        return decision === undefined ? [] : [{ charge, decision }];
      }),
      deferred,
    });
    try {
      while (open.length > 0) {
        const asked = await this.limiter.ask(open);
        open.forEach((charge, i) => decisions.set(charge, asked.decisions[i]));
        const next = nextOf(open, asked);
        if (next === undefined) {
          this.limiter.tell(open, asked);
          if (!asked.allowed) await held?.giveBack();
          return answer(asked.allowed);
        }
        const { charge } = next;
        if (isDeferTo(charge.variant.onLimit)) {
          deferred = charge;
          // Not a refusal: the job will pay.
          decisions.set(charge, letPass(next.decision));
        } else {
          this.waiters.checkRoom();
          held = await this.limiter.hold(charge, charge.variant.maxWaitMs);
          decisions.set(charge, held.decision);
          this.limiter.tell([charge], alone(held.decision));
          if (!held.decision.allowed) return answer(false);
          await this.waiters.wait(held.delayMs, interruption);
        }
        open = open.filter((each) => each !== charge);
      }
    } catch (error) {
      await held?.giveBack();
      throw error;
    }
    return answer(true);
  }
}

/** The charge to set aside: undefined when all was granted, or something refuses for good. */
function nextOf(charges: readonly CallCharge[], { decisions }: CombinedDecision) {
  const refused = charges.flatMap((charge, i) =>
    decisions[i].allowed ? [] : [{ charge, decision: decisions[i] }],
  );
  const isFinal = ({ charge: { variant }, decision }: (typeof refused)[number]) =>
    // A caller that is blocked shall not come in by the queue.
    variant.onLimit === 'reject' || isBlock(decision);
  if (refused.some(isFinal)) return undefined;
  return refused.find(({ charge }) => isDeferTo(charge.variant.onLimit)) ?? refused[0];
}

function alone(decision: Decision): CombinedDecision {
  return { allowed: decision.allowed, decisions: [decision], binding: decision };
}

/** True when the call may be decided by one question. */
export function rejectsOnly(charges: readonly CallCharge[]): boolean {
  return charges.every(({ variant }) => variant.onLimit === 'reject');
}
