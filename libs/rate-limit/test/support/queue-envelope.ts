// Pure: how far a series of starts runs ahead of the envelope capacity + rate × time.

/** The numbers of an envelope; the rate is per ms. */
export interface Envelope {
  readonly capacity: number;
  readonly ratePerMs: number;
}

/**
 * The largest `j − i + 1 − (capacity + rate × (tⱼ − tᵢ))` over all pairs of starts i ≤ j, in tokens.
 * At most 0 when the law holds to the letter.
 */
export function excess(timesMs: readonly number[], { capacity, ratePerMs }: Envelope): number {
  const sorted = [...timesMs].sort((a, b) => a - b);
  let least = Infinity;
  let most = -Infinity;
  sorted.forEach((atMs, i) => {
    const ahead = i - ratePerMs * atMs;
    least = Math.min(least, ahead);
    most = Math.max(most, ahead - least + 1);
  });
  return most - capacity;
}

/** What was charged, in integers of the script: a thousandth of a token is `q` credits, a µs refills `n`. */
export interface ExactEnvelope {
  readonly n: number;
  readonly q: number;
  /** In credits. */
  readonly capacity: number;
}

/** The same over charged instants, in credits: integers, so there is nothing to tolerate. */
export function excessCredits(
  charges: readonly { readonly atUs: number; readonly cost: number }[],
  { n, q, capacity }: ExactEnvelope,
): number {
  const sorted = [...charges].sort((a, b) => a.atUs - b.atUs);
  const [origin] = sorted;
  let spent = 0;
  let least = Infinity;
  let most = -Infinity;
  for (const { atUs, cost } of sorted) {
    const refilled = n * (atUs - origin.atUs);
    least = Math.min(least, spent - refilled);
    spent += cost * q;
    most = Math.max(most, spent - refilled - least);
  }
  return most - capacity;
}

/** Pairs of neighbours that stand in the wrong order. */
export function inversions(numbers: readonly number[]): number {
  return numbers.filter((number, i) => i > 0 && number < numbers[i - 1]).length;
}

/** The value below which `part` of the values are. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}
