// The 503 of the load shedders, for exception filters to read.
import { temporaryReducedCapacity } from '../http/problem-body';
import type { Shed } from '../limiter/events';
import { ProblemException } from './problem.exception';

/** A call was shed. Nothing was charged for it, and no handler was called. */
export class LoadShedException extends ProblemException {
  constructor(readonly shed: Shed) {
    const { by, retryAfterMs } = shed;
    super(
      temporaryReducedCapacity({
        reason: 'The service is busy, and takes what matters most first.',
        policies: [by],
        retryAfterMs,
        cost: 1,
      }),
    );
  }
}
