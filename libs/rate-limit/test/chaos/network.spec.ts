// The way to Redis is slow, broken or silent: every call is answered in time, nothing is charged twice, nobody gets more
// than the failure policy promises, and limits are shared again soon after. `npm run chaos` measures the same.
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Decision } from '../../src/core/decision';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { openRedis } from '../../src/store/redis/redis-client';
import { RedisStore } from '../../src/store/redis/redis-store';
import { ChaosProxy } from '../../../../tools/chaos/proxy.js';
import { limiterOver } from '../support/limiter';
import { RedisServer } from '../support/redis-server';

const TIMEOUT_MS = 200;
/** Timers and a busy machine. */
const MARGIN_MS = 400;
const LIMIT = { rate: 0.001, capacity: 30 };
/** More than there are calls: all that are charged show. */
const WIDE = { rate: 0.001, capacity: 1000 };
const FAULT_MS = 1200;

let server: RedisServer;
let admin: Redis;
let proxy: ChaosProxy;
let limiter: RateLimiter;
let told: string[];

beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
});
beforeEach(async () => {
  await admin.flushall();
  proxy = await ChaosProxy.start(server.port);
  const client = openRedis(proxy.url);
  const store = new RedisStore(client, { giveUpAfterMs: TIMEOUT_MS, close: () => client.close() });
  limiter = limiterOver(store, { timeoutMs: TIMEOUT_MS });
  told = [];
  limiter.events.on('storeOut', () => told.push('out'));
  limiter.events.on('storeBack', () => told.push('back'));
  await client.connected(1000);
});
afterEach(async () => {
  await limiter.close();
  await proxy.stop();
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

interface Fault {
  readonly begin: () => unknown;
  readonly again?: () => unknown;
  readonly end?: () => unknown;
  /** No call is answered by Redis while it lasts. */
  readonly isOut?: true;
}

const heal = () => {
  proxy.heal();
  proxy.cut();
};

const FAULTS: Record<string, Fault> = {
  'connections that are cut': { begin: () => proxy.cut(), again: () => proxy.cut() },
  'CLIENT KILL': { begin: killClients, again: killClients },
  'answers that are cut in half': {
    begin: () => (proxy.halfAnswers = true),
    end: heal,
    isOut: true,
  },
  'an unsteady way, within the deadline': {
    begin: () => Object.assign(proxy, { delayMs: 10, jitterMs: 40 }),
    end: () => proxy.heal(),
  },
  'lost segments': {
    begin: () => Object.assign(proxy, { lossShare: 0.2, stallMs: 150 }),
    end: () => proxy.heal(),
  },
  'a way that is longer than the deadline': {
    begin: () => (proxy.delayMs = TIMEOUT_MS),
    end: () => proxy.heal(),
    isOut: true,
  },
  'a black hole': { begin: () => (proxy.silent = true), end: heal, isOut: true },
  'a server that accepts and never answers': {
    begin() {
      proxy.silent = true;
      proxy.cut();
    },
    end: heal,
    isOut: true,
  },
  'SCRIPT FLUSH': { begin: () => admin.script('FLUSH'), again: () => admin.script('FLUSH') },
};

function killClients(): Promise<unknown> {
  return admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

interface Timed {
  readonly decision: Decision;
  readonly tookMs: number;
}

async function timed(limit = LIMIT): Promise<Timed> {
  const fromMs = performance.now();
  const decision = await limiter.consume(limit === LIMIT ? 'narrow' : 'wide', limit);
  return { decision, tookMs: performance.now() - fromMs };
}

it.each(Object.entries(FAULTS))(
  '%s',
  async (_, { begin, again, end, isOut }) => {
    const before = await timed();
    expect(before.decision.source).toBe('shared');
    await begin();
    const calls: Promise<Timed>[] = [];
    for (let ms = 0; ms < FAULT_MS; ms += 20) {
      if (ms % 100 === 0) await again?.();
      calls.push(timed(), timed(WIDE));
      await delay(20);
    }
    const during = await Promise.all(calls);
    await end?.();
    let after = await timed();
    for (let tries = 0; after.decision.source !== 'shared' && tries < 100; tries++) {
      await delay(50);
      after = await timed();
    }
    expect(after.decision.source).toBe('shared');

    for (const { decision, tookMs } of during) {
      expect(tookMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
      expect(decision.degraded).toBe(decision.source === 'local');
    }
    const isShared = ({ decision }: Timed) => decision.source === 'shared';
    expect(isOut === true ? during.filter(isShared) : []).toEqual([]);
    // What was shared, and what one process may use on its own.
    const narrow = during.filter(({ decision }) => decision.key === 'narrow');
    const passed = narrow.filter(({ decision }) => decision.allowed);
    expect(passed.length).toBeLessThanOrEqual(2 * LIMIT.capacity);
    expect(passed.length).toBeGreaterThanOrEqual(LIMIT.capacity - 2);
    // Charged are calls that Redis answered, and at most once each those whose answer was lost.
    const wide = during.filter(({ decision }) => decision.key === 'wide');
    const { available } = (await limiter.getInfo('wide', WIDE)) ?? { available: WIDE.capacity };
    expect(WIDE.capacity - available).toBeGreaterThanOrEqual(wide.filter(isShared).length);
    expect(WIDE.capacity - available).toBeLessThanOrEqual(wide.length);
    // Once a change, not once a call.
    expect(told.filter((each) => each === 'out').length).toBeLessThanOrEqual(8);
    for (let i = 0; i < told.length; i++) expect(told[i]).toBe(i % 2 === 0 ? 'out' : 'back');
  },
  20_000,
);
