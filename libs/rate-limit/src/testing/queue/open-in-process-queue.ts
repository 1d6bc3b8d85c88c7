// Puts the parts of an in-process queue together.
import type { Scheduler } from '../../core/clock';
import type { ParsedLimit } from '../../core/limit';
import { concurrencyOf, mostInFlight, queueLimits } from '../../queue/queue-limits';
import { queueBounds, type RateLimitQueueOptions } from '../../queue/queue-options';
import type { MemoryStore } from '../../store/memory/memory-store';
import { InProcessLanes } from './in-process-lanes';
import { InProcessLine } from './in-process-line';
import type { InProcessQueueOptions } from './in-process-options';
import { InProcessQueue } from './in-process-queue';
import { InProcessResults } from './in-process-results';
import { type InProcessProcessor, InProcessWorker } from './in-process-worker';

/** What a queue needs to know of its test. */
export interface InProcessSurroundings {
  readonly clock: Scheduler;
  /** Where the buckets are. */
  readonly store: MemoryStore;
  /** The policy that the queue shares, where it does. */
  readonly policy?: { readonly limit: ParsedLimit; readonly bucket: (key: string) => string };
}

/** @throws InvalidLimitError, UnsupportedOperationError naming queue, option and value */
export function openInProcessQueue(
  given: InProcessQueueOptions<never>,
  { clock, store, policy }: InProcessSurroundings,
) {
  const options = given as RateLimitQueueOptions<never>;
  const { name } = options;
  const place = `queue ${name}`;
  const bounds = queueBounds(options, place);
  const concurrency = concurrencyOf(options, place);
  const lanes = new InProcessLanes({
    queue: name,
    startToleranceMs: bounds.startToleranceMs,
    store,
    key: options.key,
    limits: queueLimits(options, policy?.limit, place),
    sharedBucket: policy?.bucket,
  });
  const results = new InProcessResults(clock);
  const line = new InProcessLine({
    queue: name,
    clock,
    lanes,
    bounds,
    mostInFlight: mostInFlight(options),
    onEnded: (id, ending) => results.tell(id, ending),
  });
  let stopped: Promise<void> | undefined;
  const stopWorking = () => {
    const { worker } = line;
    // Takes no more jobs; what runs may still submit.
    line.worker = undefined;
    stopped ??= worker?.close() ?? Promise.resolve();
    return stopped;
  };
  return {
    isInMemory: true,
    isCluster: false,
    lanes,
    laneOf: (bucket: string, limit: ParsedLimit) => lanes.ofBucket(bucket, limit),
    queue: new InProcessQueue<never, never>({
      name,
      clock,
      bounds,
      job: given.job ?? {},
      lanes,
      line,
      results,
      stopWorking,
    }),
    /** Starts what may start now, and all that follows. Once. */
    async work(processor: InProcessProcessor): Promise<void> {
      line.worker = new InProcessWorker(
        processor,
        concurrency,
        given.worker?.settings?.backoffStrategy,
      );
      line.look();
    },
    stopWorking,
  };
}
