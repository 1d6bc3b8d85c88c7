// Tokens and metadata keys of the queue's Nest face. `Symbol.for`, so that two installed copies of the package meet.

/** The options of one registration. */
export const QUEUE_OPTIONS = Symbol.for('nest-rate-limit:queue-options');
/** The opened queue of one registration, with its worker. */
export const OPEN_QUEUE = Symbol.for('nest-rate-limit:open-queue');
/** Metadata: the queue that a class processes. */
export const PROCESSOR_METADATA = Symbol.for('nest-rate-limit:processor');

/** The injection token of a queue: `app.get(getRateLimitedQueueToken('emails'))`, or to override it in tests. */
export function getRateLimitedQueueToken(name: string): symbol {
  return Symbol.for(`nest-rate-limit:queue:${name}`);
}
