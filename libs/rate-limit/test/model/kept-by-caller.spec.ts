// Whatever is kept by caller, scope or policy in this process is bounded: each way in, with eight thousand callers more,
// leaves no more behind than a cache that is full already.
import { Logger } from '@nestjs/common';
import { parseLimit } from '../../src/core/limit';
import { bucketNumbers } from '../../src/queue/lane';
import { Lanes } from '../../src/queue/lanes';
import { QueueNames } from '../../src/queue/queue-names';
import { bucketNamer } from '../../src/core/bucket-key';
import { LimiterEmitter } from '../../src/limiter/events';
import { ConcurrencyLimiter } from '../../src/limiter/concurrency-limiter';
import { PolicyRegistry } from '../../src/limiter/policy-registry';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { ResilientStore } from '../../src/store/resilient/resilient-store';
import { ErrorLog } from '../../src/nest/error-log';
import { MissingKeyError } from '../../src/core/errors';
import { heapMb } from '../support/heap';
import { limiterOver } from '../support/limiter';

jest.setTimeout(120_000);

const WARM_UP = 10_500;
const CALLERS = 8_000;
/** 25 bytes a caller. */
const MOST_MB = 0.2;

// Frozen: a limit that cannot change is parsed once.
const LIMIT = Object.freeze({ rate: 1000, per: 'second', capacity: 1000 } as const);
const WARMING = Object.freeze({ ...LIMIT, warmUpMs: 1 } as const);

const limiter = limiterOver(new MemoryStore({ maxBuckets: 1000 }), { policies: { named: LIMIT } });
const registry = new PolicyRegistry({}, bucketNamer('rl'));
const slots = new ConcurrencyLimiter(
  new ResilientStore(new MemoryStore(), { timeoutMs: 250, onChange: () => undefined }).leases,
  registry,
  new LimiterEmitter(),
);
const numbers = bucketNumbers(parseLimit(LIMIT, 'test'));
const lanes = new Lanes({
  queue: 'mails',
  names: new QueueNames('rl', 'mails'),
  startToleranceMs: 25,
  key: undefined,
  tokenOf: (key) => key,
  numbers: { bucket: numbers, share: undefined },
  sharedBucket: undefined,
});
const errors = new ErrorLog();
const settled = (work: Promise<unknown>) => work.catch(() => undefined);

const ways: Readonly<Record<string, (caller: string) => unknown>> = {
  'consume, by key': (caller) => limiter.consume(caller, LIMIT),
  'consume, by scope': (caller) => limiter.consume('k', LIMIT, { scope: caller }),
  'consume, by policy': (caller) => limiter.consume('k', { ...LIMIT, name: `p${caller}` }),
  peek: (caller) => limiter.peek(caller, LIMIT),
  'for, acquire: wait lines': (caller) =>
    settled(limiter.for(LIMIT, caller).acquire({ timeoutMs: 0 })),
  'acquire with warm-up': (caller) => settled(limiter.acquire(caller, WARMING, { timeoutMs: 0 })),
  'acquire, given up': async (caller) => {
    const signal = AbortSignal.abort(new Error('gone'));
    await settled(limiter.acquire(caller, LIMIT, { signal }));
  },
  'reserve and cancel': async (caller) => (await limiter.reserve(caller, LIMIT)).cancel(),
  'refund and penalize': async (caller) => {
    await limiter.penalize(caller, LIMIT, 1);
    await limiter.refund(caller, LIMIT, 1);
  },
  'configure and clear': async (caller) => {
    await limiter.configure(caller, { rate: 5 }, { ttlMs: 60_000 });
    await limiter.clearConfiguration(caller);
  },
  'block, at the bound': (caller) => settled(limiter.block(caller, LIMIT, 60_000)),
  'slots in flight': (caller) => slots.run(caller, { max: 1 }, () => undefined),
  'reset and getInfo': async (caller) => {
    await limiter.reset(caller, LIMIT);
    await limiter.getInfo(caller, LIMIT);
  },
  'lanes of a queue': (caller) => lanes.ofKey(caller),
  'errors that are told': (caller) => errors.report(new MissingKeyError(`no key for ${caller}`)),
};

beforeEach(() => jest.spyOn(Logger.prototype, 'error').mockImplementation());
afterAll(() => limiter.close());

it.each(Object.entries(ways))('%s', async (_, way) => {
  const rounds = async (from: number, to: number) => {
    for (let i = from; i < to; i++) await way(`caller${i}`);
  };
  await rounds(0, WARM_UP);
  // What is kept for good grows in every round; the compiler and the test runner do not.
  const grown: number[] = [];
  for (let round = 0; round < 4 && !grown.some((mb) => mb < MOST_MB); round++) {
    const before = await heapMb();
    await rounds(WARM_UP + round * CALLERS, WARM_UP + (round + 1) * CALLERS);
    grown.push((await heapMb()) - before);
  }
  expect(Math.min(...grown)).toBeLessThan(MOST_MB);
});
