// Cases by a seed: a fresh one each run, and those that are kept. `FUZZ_CASES` and `FUZZ_SEED` change how many, and which.
import fc from 'fast-check';

/** Seeds that are tried in every run: those that found something, and a first one. */
const KEPT = [20_261_201];
const CASES = Number(process.env.FUZZ_CASES ?? 600);
const BATCH = 500;

const given = process.env.FUZZ_SEED;
export const SEEDS: readonly number[] =
  given === undefined ? [...KEPT, fc.sample(fc.nat(), 1)[0]] : [Number(given)];

/** Of each seed; all seeds together `FUZZ_CASES`. */
export const CASES_A_SEED = Math.ceil(CASES / SEEDS.length);

/** Calls `attempt` for each case, some at a time. What it throws names the seed and the case. */
export async function fuzz<T>(
  seed: number,
  cases: fc.Arbitrary<T>,
  attempt: (one: T) => Promise<void> | void,
  { most = CASES_A_SEED, atOnce = 16 }: { most?: number; atOnce?: number } = {},
): Promise<void> {
  for (let done = 0; done < most; done += BATCH) {
    const batch = fc.sample(cases, { seed: seed + done, numRuns: Math.min(BATCH, most - done) });
    let next = 0;
    const worker = async () => {
      while (next < batch.length) {
        const one = batch[next++];
        try {
          await attempt(one);
        } catch (error) {
          const shown = JSON.stringify(one).slice(0, 2000);
          throw new Error(`FUZZ_SEED=${seed}, in the batch from ${done}: ${shown}`, {
            cause: error,
          });
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }
}
