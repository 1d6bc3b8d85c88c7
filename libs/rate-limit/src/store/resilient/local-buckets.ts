// The buckets of this process that answer while the shared store is out.
import { rescale } from '../../core/algorithms/token-bucket';
import type { ParsedLimit } from '../../core/limit';
import type { MemoryStore } from '../memory/memory-store';
import type { BucketCharge, Outcome } from '../rate-limit-store';
import type { ResilientCharge, UnusedResilientGrant } from '../resilient-port';

/**
 * Local buckets follow the shared ones down: what a shared answer showed as spent is spent here
 * too, and what was spent here during an outage stays spent when the store flaps. Nothing of it is
 * ever sent to the shared store.
 */
export class LocalBuckets {
  constructor(private readonly store: MemoryStore) {}

  /** All or nothing over the `local` charges; those that are `open` pass. */
  take(charges: readonly ResilientCharge[]): Outcome[] {
    const taken = this.store.take(charges.filter(isLocal).map(localCharge));
    let next = 0;
    return charges.map((charge) =>
      isLocal(charge) ? sharedUnits(charge, taken[next++]) : passed(charge),
    );
  }

  /** A charge that could never pass here: its local share is smaller than its cost. */
  tooMuch(charges: readonly ResilientCharge[]): ResilientCharge | undefined {
    return charges.find(
      (charge) => isLocal(charge) && localCharge(charge).price > charge.localLimit.capacity,
    );
  }

  /** Gives back what was granted here. */
  giveBack(grants: readonly UnusedResilientGrant[]): void {
    this.store.giveBack(
      grants
        .filter(isLocal)
        .map((grant) => ({ ...localCharge(grant), startsAtUs: grant.startsAtUs })),
    );
  }

  /** What `take` would say of each. */
  peek(charges: readonly ResilientCharge[]) {
    const peeked = this.store.peek(charges.map(localCharge));
    return charges.map((charge, i) => ({
      ...peeked[i],
      ...(isLocal(charge) ? sharedUnits(charge, peeked[i]) : passed(charge)),
      held: rescaled(charge, peeked[i].held),
    }));
  }

  /** Remembers what the shared store just showed. */
  follow(charges: readonly ResilientCharge[], outcomes: readonly Outcome[]): void {
    charges.forEach((charge, i) => {
      if (!isLocal(charge)) return;
      const { credits, limit = charge.limit } = outcomes[i];
      this.store.lower(localCharge(charge), converted(credits, limit, charge.localLimit));
    });
  }

  reset(buckets: readonly string[]): void {
    this.store.reset(buckets);
  }

  close(): void {
    this.store.close();
  }
}

function isLocal({ failureMode }: ResilientCharge): boolean {
  return failureMode === 'local';
}

function localCharge(charge: ResilientCharge): BucketCharge {
  const { limit, localLimit } = charge;
  return { ...charge, limit: localLimit, price: (charge.price / limit.q) * localLimit.q };
}

/** The same tokens under another limit; where it counts alike, to the last credit. */
function converted(credits: number, from: ParsedLimit, to: ParsedLimit): number {
  if (from.q === to.q) return Math.min(credits, to.capacity);
  return rescale(credits, from.q, to.q, to.capacity);
}

function rescaled({ limit, localLimit }: ResilientCharge, credits: number): number {
  return converted(credits, localLimit, limit);
}

function sharedUnits(charge: ResilientCharge, outcome: Outcome): Outcome {
  return { ...outcome, credits: rescaled(charge, outcome.credits) };
}

function passed({ limit, price }: BucketCharge): Outcome {
  return { granted: true, waitUs: 0, credits: limit.capacity - price, fullInUs: 0 };
}
