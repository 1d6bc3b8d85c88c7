// Types of judge.js, which stays JavaScript so that `npm run soak` needs no build of its own.
import type { Law, RecordedCall } from '../load/envelope';

/** What a fault may cost: see tools/chaos/faults.mjs. */
export interface SoakFault {
  readonly isOut?: boolean;
  readonly forgets?: boolean;
  readonly steps?: number;
}

export interface SoakRound {
  readonly admitted: readonly RecordedCall[];
  /** Of jobs. */
  readonly starts: readonly RecordedCall[];
  readonly mostInFlight: number;
  /** How often the limiter said in this round that its store is out. */
  readonly outs: number;
  /** For how long its store is out at the end of the round, by what the limiter said; 0: it is not. */
  readonly outForMs: number;
  readonly unhandled: readonly string[];
  readonly foreign: readonly string[];
  /** Keys of limits without a TTL. */
  readonly endless: number;
}

export interface SoakLaw {
  readonly steady: Law;
  readonly jobs: Law;
  readonly slots: number;
  readonly seconds: number;
}

export interface SoakSample {
  readonly heapMb: number;
  readonly handles: number;
  readonly connections: number;
  readonly open: number;
  readonly inFlight: number;
  readonly keys: { readonly limits: number; readonly queue: number };
}

export function roundProblems(fault: SoakFault, seen: SoakRound, law: SoakLaw): string[];
export function growth(samples: readonly SoakSample[]): Record<string, [number, number]>;
export function leftovers(before: SoakSample, after: SoakSample): string[];
