// Puts the parts of a queue together. Framework-free; the Nest module hands in what it knows.
import { randomUUID } from 'node:crypto';
import { Queue, type ConnectionOptions } from 'bullmq';
import { keyToken } from '../core/bucket-key';
import { StoreConfigurationError } from '../core/errors';
import { shown, type ParsedLimit } from '../core/limit';
import { Channels } from './channels';
import { Connections, type ConnectionSource } from './connections';
import { endsWithin, InTime } from './in-time';
import { JobResults } from './job-results';
import { JobStatuses } from './job-status';
import { bucketNumbers, type Lane, type LaneRecord } from './lane';
import { Lanes } from './lanes';
import { Pacer } from './pacer';
import { PacedWorker, type JobProcessor } from './paced-worker';
import { Pacing } from './pacing';
import { Promoter } from './promoter';
import { concurrencyOf, mostInFlight, queueLimits } from './queue-limits';
import { QueueNames } from './queue-names';
import { queueBounds, type RateLimitQueueOptions } from './queue-options';
import { RateLimitedQueue } from './rate-limited-queue';
import { Reconciler } from './reconciler';
import { Submissions } from './submissions';

/** What a queue needs to know of the module beside its own options. */
export interface QueueSurroundings {
  readonly keyPrefix: string;
  /** A key as part of a name in Redis: hashed where the module hashes keys. */
  readonly tokenOf?: (key: string) => string;
  readonly connection: ConnectionSource;
  /** The policy that the queue shares, where it does. */
  readonly policy?: { readonly limit: ParsedLimit; readonly bucket: (key: string) => string };
  /** The longest that a submission waits for Redis, in ms. */
  readonly timeoutMs: number;
  /** Told of errors that are nobody's answer. */
  readonly onError: (error: unknown) => void;
  /** Told, often, that Redis did what it was asked. */
  readonly onAnswer: () => void;
}

/** A queue, and the way to work it off in this process. */
export interface OpenQueue {
  readonly queue: RateLimitedQueue<never, never>;
  readonly lanes: Lanes;
  /** All keys of one script must then share a slot. */
  readonly isCluster: boolean;
  /** Its lines can pay buckets in the memory of this process: those of a test only. */
  readonly isInMemory?: boolean;
  /** The lane of jobs that pay a bucket of the module, all of it: for `deferTo`. */
  laneOf(bucket: string, limit: ParsedLimit): Lane;
  /** Starts a worker and a pacer. Once. */
  work(processor: JobProcessor<never>): Promise<void>;
  /** Starts no more jobs and lets the running ones end, for a while. Submissions are still taken. */
  stopWorking(): Promise<void>;
}

/** How long the start of the work waits for Redis. */
const START_PATIENCE_MS = 2000;
/** How long running jobs may take to end when the application closes. */
const CLOSE_GRACE_MS = 10_000;

/**
 * In a cluster, what one script or one command of BullMQ touches must be in one slot.
 * @throws StoreConfigurationError
 */
function checkForCluster({ policy, worker }: RateLimitQueueOptions<never>, place: string): void {
  if (policy !== undefined) {
    throw new StoreConfigurationError(
      `${place}: policy ${shown(policy)} cannot be shared in a Redis Cluster: its buckets are in the slots of their keys, and the queue is in one slot. Give the queue a rate of its own`,
    );
  }
  if (worker?.prefix !== undefined && !/\{[^}]+\}/.test(worker.prefix)) {
    throw new StoreConfigurationError(
      `${place}: worker.prefix ${shown(worker.prefix)} spreads the queue over the slots of a Redis Cluster: put it in braces, '{${worker.prefix}}', or leave it out`,
    );
  }
}

/** @throws InvalidLimitError, UnsupportedOperationError, StoreConfigurationError naming queue, option and value */
export function openQueue(
  options: RateLimitQueueOptions<never>,
  around: QueueSurroundings,
): OpenQueue {
  const place = `queue ${options.name}`;
  const bounds = queueBounds(options, place);
  const concurrency = concurrencyOf(options, place);
  // What is wrong is to be found before a connection is opened.
  const limits = queueLimits(options, around.policy?.limit, place);
  const numbers = limits && {
    bucket: bucketNumbers(limits.limit),
    share: limits.share && bucketNumbers(limits.share),
  };
  const connections = new Connections(around.connection, place);
  if (connections.isCluster) checkForCluster(options, place);
  const { redis, connected, trouble, nobodyThere } = connections.commands();
  const names = new QueueNames(around.keyPrefix, options.name);
  const pacing = new Pacing(redis, names);
  const lanes = new Lanes({
    queue: options.name,
    names,
    startToleranceMs: bounds.startToleranceMs,
    key: options.key,
    tokenOf: around.tokenOf ?? keyToken,
    numbers,
    sharedBucket: around.policy && ((key) => connections.keyPrefix + around.policy!.bucket(key)),
  });
  // In a cluster, BullMQ's keys of a queue share a slot by the braces of their prefix.
  const prefix = options.worker?.prefix ?? (connections.isCluster ? '{bull}' : undefined);
  const queue = new Queue(options.name, {
    connection: redis as unknown as ConnectionOptions,
    prefix,
  });
  queue.on('error', around.onError);
  const channels = new Channels(() => connections.subscriber(), around.onError);
  const results = new JobResults(redis, names, channels, queue);
  const promoter = new Promoter(queue);
  const reconciler = new Reconciler({
    redis,
    names,
    queue,
    pacing,
    promoter,
    lanes,
    timeoutMs: around.timeoutMs,
    onError: around.onError,
  });
  const inTime = new InTime({ ...around, queue: options.name, connected, trouble });
  const kept = { age: Math.ceil(bounds.resultTtlMs / 1000) };
  const submissions = new Submissions({
    name: options.name,
    bounds,
    job: { removeOnComplete: kept, removeOnFail: kept, ...options.job },
    jobGiven: options.job !== undefined,
    redis,
    queue,
    names,
    pacing,
    reconciler,
    inTime,
  });
  let working: { pacer: Pacer; worker: PacedWorker } | undefined;
  let stopped: Promise<unknown> | undefined;
  const stopWorking = async () => {
    stopped ??= Promise.all([working?.pacer.close(), reconciler.close()]).then(() =>
      working?.worker.close(CLOSE_GRACE_MS),
    );
    await stopped;
  };
  const close = async () => {
    await results.close();
    promoter.close();
    await queue.close().catch(around.onError);
    connections.close();
  };
  return {
    lanes,
    isCluster: connections.isCluster,
    laneOf: (bucket, limit) => {
      const numbers = { bucket: bucketNumbers(limit), share: bucketNumbers(limit) };
      const record: LaneRecord = { bucket: connections.keyPrefix + bucket, numbers };
      return lanes.fromRecord(keyToken(bucket), JSON.stringify(record));
    },
    stopWorking,
    queue: new RateLimitedQueue({
      name: options.name,
      bounds,
      queue,
      names,
      pacing,
      lanes,
      results,
      statuses: new JobStatuses({ redis, names, lanes, results, queue }),
      reconciler,
      submissions,
      inTime,
      stopWorking,
      close,
    }),
    async work(processor) {
      const pacer = new Pacer({
        id: randomUUID(),
        names,
        pacing,
        channels,
        concurrency,
        lanes,
        mostInFlight: mostInFlight(options),
        promote: (id) => promoter.promote(id),
        promoteOnce: (id) => promoter.promoteOnce(id),
        takeOver: () => reconciler.takeOver(),
        onError: around.onError,
        onAnswer: around.onAnswer,
      });
      const worker = new PacedWorker({
        queue: options.name,
        prefix,
        connection: connections.forWorker(),
        worker: options.worker ?? {},
        concurrency,
        pacing,
        processor: processor as JobProcessor,
        resultTtlMs: bounds.resultTtlMs,
        lanes,
        mostInFlight: () => pacer.mostInFlight,
        onError: around.onError,
      });
      working = { pacer, worker };
      // Not an outage yet: the connection is on its way. Without Redis the pacer tries until it is there.
      await Promise.race([connected, nobodyThere, patience()]);
      await endsWithin(pacer.start(connected), around.timeoutMs);
      reconciler.start(() => pacer.leads);
    },
  };
}

function patience(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, START_PATIENCE_MS).unref());
}
