// Bad input of the queue: a clear error at the earliest moment, nothing enqueued, nothing charged. Costs are in
// queue-cancel, registrations and processors in nest-queue, job options of BullMQ in both.
import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RateLimitModule } from '../../src';
import { InjectRateLimitedQueue, RateLimitQueueModule } from '../../src/queue';
import type { SubmitOptions } from '../../src/queue/rate-limited-queue';
import { buildApp, closeApps } from '../support/nest-app';
import { LocalQueue } from '../support/queue-local';
import { sharedRedisUrl } from '../support/redis-server';

let local: LocalQueue | undefined;
let redis: Redis;
beforeAll(() => {
  redis = new Redis(sharedRedisUrl());
});
afterEach(async () => {
  await local?.close();
  local = undefined;
});
afterAll(async () => {
  await closeApps();
  redis.disconnect();
});

const circular: Record<string, unknown> = {};
circular.self = circular;
const GOOD = { n: 1 };

interface Bad {
  readonly what: string;
  readonly data?: unknown;
  readonly options?: Record<string, unknown>;
  readonly key?: (data: never) => unknown;
  readonly code: string;
  readonly says: RegExp;
}

const PAYLOAD = { code: 'RATE_LIMIT_INVALID_LIMIT', says: /payload cannot be written as JSON: / };
const WAIT = {
  code: 'RATE_LIMIT_INVALID_LIMIT',
  says: /submit: maxWaitMs .* is not a whole number/,
};
const KEY = { code: 'RATE_LIMIT_MISSING_KEY', says: /key/ };

const bad: Bad[] = [
  { what: 'a BigInt', data: { n: 1n }, ...PAYLOAD },
  { what: 'a circle', data: circular, ...PAYLOAD },
  { what: 'a function', data: () => 1, ...PAYLOAD },
  { what: 'a function inside', data: { a: { f: () => 1 } }, ...PAYLOAD, says: /"f" is a function/ },
  { what: 'a symbol inside', data: { s: Symbol('x') }, ...PAYLOAD, says: /"s" is a symbol/ },
  { what: 'undefined', data: undefined, ...PAYLOAD },
  {
    what: 'a toJSON that throws',
    data: {
      toJSON() {
        throw new Error('no');
      },
    },
    ...PAYLOAD,
  },
  ...[-1, 1.5, NaN, Infinity, '5'].map((maxWaitMs) => ({
    what: `a wait of ${String(maxWaitMs)}`,
    options: { maxWaitMs },
    ...WAIT,
  })),
  ...[0, -1, NaN, Infinity, '1', null].map((cost) => ({
    what: `a cost of ${String(cost)}`,
    options: { cost },
    code: 'RATE_LIMIT_INVALID_COST',
    says: /cost .* is not a positive finite number/,
  })),
  {
    what: 'a cost above the capacity',
    options: { cost: 5.001 },
    code: 'RATE_LIMIT_COST_EXCEEDS_CAPACITY',
    says: /cost 5\.001 is more than the capacity 5/,
  },
  { what: 'a key that is no text', options: { key: 7 }, ...KEY, says: /key 7 is not a string/ },
  {
    what: 'a key function that throws',
    key: () => (undefined as unknown as { x: { y: string } }).x.y,
    ...KEY,
    says: /its key of the payload an object failed: TypeError/,
  },
  { what: 'a key function without an answer', key: () => undefined, ...KEY, says: /is missing/ },
  { what: 'a key function that is async', key: async () => 'a', ...KEY, says: /is not a string/ },
  {
    what: 'an idempotency key that is empty',
    options: { idempotencyKey: '' },
    ...KEY,
    says: /idempotencyKey "" is not/,
  },
  {
    what: 'a delay of BullMQ',
    options: { job: { delay: 5 } },
    code: 'RATE_LIMIT_UNSUPPORTED_OPERATION',
    says: /submit: job\.delay cannot be set/,
  },
  ...(
    [
      ['that is none', 7, /submit: job 7 is not a set of options/],
      [
        'of a number that cannot be stored',
        { attempts: NaN },
        /cannot be stored: .*attempts is NaN/,
      ],
      ['of a symbol', { backoff: Symbol('x') }, /cannot be stored: .*backoff is Symbol\(x\)/],
      ['in a circle', circular, /cannot be stored: TypeError: Converting circular/],
    ] as const
  ).map(([what, job, says]) => ({
    what: `a job ${what}`,
    options: { job },
    code: 'RATE_LIMIT_INVALID_LIMIT',
    says,
  })),
];

describe('submit refuses', () => {
  it.each(bad)('$what', async ({ data = GOOD, options, key, code, says, ...given }) => {
    local = await LocalQueue.start({ rate: 1, capacity: 5, submitOnly: true });
    if (key !== undefined) Object.assign(local.setup.options, { key });
    const queue = local.instance();
    const payload = given.what === 'undefined' ? undefined : data;
    await expect(queue.submit(payload, options as SubmitOptions)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(says),
    });
    await expect(queue.trySubmit(payload, options as SubmitOptions)).rejects.toMatchObject({
      code,
    });
    expect(await queue.counts()).toMatchObject({ waiting: 0 });
    // Neither place, nor token, nor idempotency key.
    expect(await redis.keys(`${local.setup.keyPrefix}*`)).toEqual([]);
  });

  it('an item of many: those before it are in the queue, and none after it', async () => {
    local = await LocalQueue.start({ rate: 1, capacity: 1, submitOnly: true });
    const items = [{ data: 1 }, { data: 2 }, { data: 3n }, { data: 4 }];
    await expect(local.queue.submitMany(items)).rejects.toThrow(/BigInt/);
    expect(await local.queue.counts()).toMatchObject({ waiting: 2 });
  });
});

describe('the rest of the face refuses', () => {
  const invalid = { code: 'RATE_LIMIT_INVALID_LIMIT' };
  it('what it cannot take, with errors of this library', async () => {
    local = await LocalQueue.start({ rate: 1, capacity: 5, submitOnly: true });
    const { queue } = local;
    const none = null as never;
    await expect(queue.submit(GOOD, none)).rejects.toMatchObject(invalid);
    await expect(queue.trySubmit(GOOD, none)).rejects.toMatchObject(invalid);
    await expect(queue.submitMany(none)).rejects.toThrow(/submitMany: null is not a list/);
    await expect(queue.submitMany([{ data: 1 }, none])).rejects.toThrow(/item: null is not a set/);
    expect(await queue.counts()).toMatchObject({ waiting: 0 });
    expect(() => queue.ticket(Symbol('id') as never)).toThrow(
      /Symbol\(id\) is not the id of a job/,
    );
    await expect(queue.status(7 as never)).rejects.toThrow(/7 is not the id of a job/);
    const ticket = await queue.submit(GOOD);
    await expect(ticket.result(none)).rejects.toThrow(/result: null is not a set of options/);
    await expect(ticket.result({ signal: {} as never })).rejects.toThrow(
      /result: signal an object/,
    );
    expect(await ticket.cancel()).toBe(true);
    await queue.close();
    await expect(queue.drain()).rejects.toMatchObject({ code: 'RATE_LIMIT_LIMITER_CLOSED' });
  });
});

describe('the start refuses', () => {
  it.each([
    [{ port: 'x' }, 'queue mails: connection.port "x" is not a whole number from 1 to 65535'],
    [{ db: -1 }, 'queue mails: connection.db -1 is not'],
    ['http://h', 'queue mails: connection "http://h" is neither a URL'],
    [7, 'queue mails: connection 7 is neither a URL'],
  ])('the connection %p', async (connection, message) => {
    const queue = { name: 'mails', rate: 1, connection: connection as never };
    const start = buildApp({
      imports: [RateLimitModule.forRoot({}), RateLimitQueueModule.register(queue)],
    });
    await expect(start).rejects.toThrow(message);
  });

  it('a queue that nobody registered, by its name', async () => {
    @Injectable()
    class Sender {
      constructor(@InjectRateLimitedQueue('nowhere') readonly queue: unknown) {}
    }
    const start = buildApp({ imports: [RateLimitModule.forRoot({})], providers: [Sender] });
    await expect(start).rejects.toThrow(/queue:nowhere/);
  });
});
