// What was charged for one invocation of a handler, however many guards look at it.
import type { ExecutionContext } from '@nestjs/common';
import type { LimitedDecision } from '../http/limited-decision';
import type { PlannedLimit } from './plan';

/** Shared by all guards of one invocation. */
export interface CallRecord {
  /** Limits that a guard has taken care of. */
  readonly charged: Set<PlannedLimit>;
  /** What they decided, for the headers of the answer. Shadow limits are not among them. */
  readonly decisions: LimitedDecision[];
}

// By the context, not the request: Nest makes one a handler's invocation, and a request may have many (GraphQL).
const records = new WeakMap<ExecutionContext, CallRecord>();

/** The record of an invocation. */
export function callRecord(context: ExecutionContext): CallRecord {
  let record = records.get(context);
  if (record === undefined) {
    record = { charged: new Set(), decisions: [] };
    records.set(context, record);
  }
  return record;
}
