// Pure: the answer to one charge, and which of several answers binds.

/** Who answered: the shared store, the in-process store, or this process alone because the store was out. */
export type DecisionSource = 'shared' | 'memory' | 'local';

/** The answer to one charge. Plain, serialisable data; a denial is a value, never an exception. */
export interface Decision {
  readonly allowed: boolean;
  /** Name of the policy that decided. */
  readonly policy: string;
  /** Whose bucket. */
  readonly key: string;
  /** Tokens that were asked for. */
  readonly cost: number;
  /** Capacity in whole tokens, rounded down. */
  readonly limit: number;
  /** Whole tokens left, rounded down, never negative. On a denial what is left, not 0. */
  readonly remaining: number;
  /** 0 when allowed; else the same cost passes after exactly this many ms if nobody else comes. */
  readonly retryAfterMs: number;
  /** Milliseconds until the bucket is full again; 0 when it is full. */
  readonly resetAfterMs: number;
  readonly source: DecisionSource;
  /** The store was out and the failure policy answered. */
  readonly degraded: boolean;
}

/** The answer to several charges made together: all of them, or none. */
export interface CombinedDecision {
  readonly allowed: boolean;
  /** One for each charge, in order. `allowed` of each says what that bucket alone would have said. */
  readonly decisions: readonly Decision[];
  /** The strictest of them. */
  readonly binding: Decision;
}

/**
 * The stricter of two: a denial before an allowance; among denials the longer wait; among allowances
 * the smaller share left. Equal: the first.
 */
export function strictest(a: Decision, b: Decision): Decision {
  if (a.allowed !== b.allowed) return a.allowed ? b : a;
  if (!a.allowed && a.retryAfterMs !== b.retryAfterMs) {
    return a.retryAfterMs > b.retryAfterMs ? a : b;
  }
  // remaining/limit compared without a division.
  return b.remaining * a.limit < a.remaining * b.limit ? b : a;
}
