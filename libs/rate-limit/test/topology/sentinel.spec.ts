// A primary, a replica and a Sentinel that fails them over under load: every call is answered, in time, by the shared store
// or by the failure policy; the module's own client finds the new primary by itself.
import { Redis } from 'ioredis';
import { RateLimiterService, RateLimitModule } from '../../src';
import { buildApp, closeApps } from '../support/nest-app';
import { until } from '../support/redis-cluster';
import { RedisServer } from '../support/redis-server';
import { SteadyLoad } from '../support/steady-load';

const TIMEOUT_MS = 250;
/** Timers and a busy machine. */
const MARGIN_MS = 500;
const CAPACITY = 60;
const KEYS = 20;

let servers: RedisServer[];
let sentinel: RedisServer;
let limiter: RateLimiterService;
const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);

async function ask<T>(port: number, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port);
  return question(redis).finally(() => redis.disconnect());
}

beforeAll(async () => {
  process.on('unhandledRejection', note);
  const primary = await RedisServer.start('--repl-diskless-sync-delay', '0');
  const replica = await RedisServer.start(
    ...['--repl-diskless-sync-delay', '0', '--replicaof', `127.0.0.1 ${primary.port}`],
  );
  servers = [primary, replica];
  sentinel = await RedisServer.startSentinel(
    `sentinel monitor main 127.0.0.1 ${primary.port} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 3000',
  );
  await knowsReplica();
  const nest = await buildApp({
    imports: [
      RateLimitModule.forRoot({
        redis: { sentinels: [{ host: '127.0.0.1', port: sentinel.port }], name: 'main' },
        storeTimeoutMs: TIMEOUT_MS,
        policies: { caller: { rate: 0.001, capacity: CAPACITY } },
      }),
    ],
  });
  limiter = nest.get(RateLimiterService);
}, 60_000);
afterAll(async () => {
  await closeApps();
  await Promise.all([...servers, sentinel].map((server) => server.stop()));
  process.off('unhandledRejection', note);
});

/** Waits until the Sentinel could fail over. */
async function knowsReplica(): Promise<void> {
  await ask(sentinel.port, (redis) =>
    until('the Sentinel knows no replica', async () => {
      const replicas = (await redis.call('SENTINEL', 'REPLICAS', 'main')) as string[][];
      return replicas.some(
        (fields) =>
          fields[fields.indexOf('flags') + 1] === 'slave' &&
          fields[fields.indexOf('master-link-status') + 1] === 'ok',
      );
    }),
  );
}

async function primaryPort(): Promise<number> {
  return ask(sentinel.port, async (redis) => {
    const address = await redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'main');
    return Number((address as string[])[1]);
  });
}

async function primaryMovesFrom(port: number): Promise<void> {
  await until('the Sentinel did not fail over', async () => (await primaryPort()) !== port);
}

function load(prefix: string): SteadyLoad {
  return new SteadyLoad(limiter, (caller, n) => [
    { key: `${prefix}${(caller * 7 + n) % KEYS}`, limit: 'caller' },
  ]);
}

/** @param changedAt when the primary changed: what it had not sent to its replica by then is forgotten */
function expectKept(steady: SteadyLoad, changedAt: number): void {
  expect([...steady.errors, ...unhandled]).toEqual([]);
  expect(steady.slowestMs).toBeLessThan(TIMEOUT_MS + MARGIN_MS);
  for (const count of steady.admitted('local').values())
    expect(count).toBeLessThanOrEqual(CAPACITY);
  for (const [key, count] of steady.admitted('shared')) {
    const forgotten = steady.answers.filter(
      (each) => each.key === key && each.at > changedAt - 200 && each.at < changedAt + 1000,
    );
    expect(count).toBeLessThanOrEqual(CAPACITY + forgotten.length);
  }
}

it('SENTINEL FAILOVER: the old primary is a replica then, and nobody is asked there any more', async () => {
  const steady = load('planned');
  await steady.isShared();
  const before = await primaryPort();
  const changedAt = performance.now();
  await ask(sentinel.port, (redis) => redis.call('SENTINEL', 'FAILOVER', 'main'));
  await primaryMovesFrom(before);
  // What the Sentinel does as well, some ten seconds later. Whoever is still connected there hears READONLY.
  const now = await primaryPort();
  await ask(before, (redis) => redis.replicaof('127.0.0.1', now));
  await steady.more(50);
  await steady.isShared();
  await steady.more(300);
  await steady.stop();
  expectKept(steady, changedAt);
}, 40_000);

it('a primary that is killed: local until the replica is promoted, then shared', async () => {
  await knowsReplica();
  const steady = load('killed');
  await steady.isShared();
  const before = await primaryPort();
  const changedAt = performance.now();
  await servers.find(({ port }) => port === before)?.kill();
  await primaryMovesFrom(before);
  await steady.isShared();
  await steady.more(300);
  await steady.stop();
  expectKept(steady, changedAt);
  expect(steady.localMs).toBeGreaterThan(300);
}, 40_000);
