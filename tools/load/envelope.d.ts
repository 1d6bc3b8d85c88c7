// Types of envelope.js, which stays JavaScript so that `npm run load` needs no build of its own.

/** When a call left and when its answer was there, in ms of one monotonic clock. */
export interface RecordedCall {
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** Tokens a second, and the largest burst. */
export interface Law {
  readonly rate: number;
  readonly capacity: number;
}

/** How many were admitted in a window, and how far below the law that is; negative: above. */
export interface Window {
  readonly slack: number;
  readonly count: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export function tightestWindow(calls: readonly RecordedCall[], law: Law): Window | undefined;
export function tightestSince(
  calls: readonly RecordedCall[],
  law: Law,
  fromMs: number,
): Window | undefined;
export function leastDueRefusal(
  refused: readonly RecordedCall[],
  admitted: readonly RecordedCall[],
  law: Pick<Law, 'rate'>,
  start: { readonly tokens: number; readonly sinceMs: number },
): { readonly slack: number; readonly sentMs: number } | undefined;
export function quantile(numbers: readonly number[], share: number): number;
