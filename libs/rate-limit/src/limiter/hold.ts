// A charge for a later moment, and how it is given back.
import type { Decision } from '../core/decision';
import { US_PER_MS } from '../core/duration';
import type { Awaitable } from '../store/rate-limit-store';
import type { Answer, AnsweringStore } from '../store/resilient-port';
import { bucketCharge, decision, type PreparedCharge, recounted } from './charge';

/** What became of a charge that may wait. */
export interface Hold {
  /** `allowed`: it was charged, for the moment in `delayMs`. Else nothing was. */
  readonly decision: Decision;
  /** Milliseconds until the moment that was charged for; may be a fraction; 0 = now. */
  readonly delayMs: number;
  /** Gives the charge back: it is not used. Once; of a denial it does nothing. */
  giveBack(): Awaitable<void>;
}

/** Charges for the earliest moment within `maxWaitMs`. */
export function hold(
  store: AnsweringStore,
  prepared: PreparedCharge,
  maxWaitMs: number,
): Awaitable<Hold> {
  const charge = bucketCharge(prepared, maxWaitMs * US_PER_MS);
  const held = (answer: Answer): Hold => {
    const [{ granted, waitUs, startsAtUs }] = answer.outcomes;
    return {
      decision: decision(prepared, answer.outcomes[0], answer),
      delayMs: granted ? waitUs / US_PER_MS : 0,
      giveBack: () =>
        startsAtUs === undefined
          ? undefined
          : store.giveBack([{ ...recounted(charge, [prepared]), startsAtUs }], answer.source),
    };
  };
  const answer = store.take([charge]);
  return answer instanceof Promise ? answer.then(held) : held(answer);
}
