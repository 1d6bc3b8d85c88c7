// What answers when the shared store is out.
import type { ParsedLimit } from '../../core/limit';
import type { BucketCharge } from '../rate-limit-store';

/** `local`: this process limits alone. `open`: let pass. `closed`: refuse with 503. */
export type FailureMode = 'local' | 'open' | 'closed';

export const FAILURE_MODES: readonly FailureMode[] = ['local', 'open', 'closed'];

/** A charge that knows what to do without the shared store. */
export interface ResilientCharge extends BucketCharge {
  readonly failureMode: FailureMode;
  /** For `local`: the limit that this process may use on its own. */
  readonly localLimit: ParsedLimit;
}
