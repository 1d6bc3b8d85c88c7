// What the limiter asks of Redis, in Redis' own words.
import { Redis } from 'ioredis';
import { parseLimit } from '../../src/core/limit';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from '../support/limiter';
import { commandCounts, forgetCommands, KeyWatch } from '../support/redis-commands';
import { RedisServer } from '../support/redis-server';

const policies = {
  ip: { rate: 0.001, capacity: 100 },
  account: { rate: 0.001, capacity: 100 },
  route: { rate: 0.001, capacity: 3 },
};
const all = Object.keys(policies).map((limit) => ({ key: 'alice', limit }));

let server: RedisServer;
let redis: Redis;
let admin: Redis;
let limiter: RateLimiter;

beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());
beforeEach(async () => {
  redis = new Redis(server.url);
  admin = new Redis(server.url);
  limiter = limiterOver(new RedisStore(redis, { giveUpAfterMs: 250 }), { policies });
  await limiter.consume('warm up', 'ip');
  await limiter.peek('warm up', 'ip');
  await forgetCommands(admin);
});
afterEach(async () => {
  redis.disconnect();
  await admin.flushall();
  admin.disconnect();
});

it('a request with three limits is one EVALSHA: one MGET and one SET a limit, and TIME once', async () => {
  expect((await limiter.consumeAll(all)).allowed).toBe(true);
  expect(await commandCounts(admin)).toEqual({ evalsha: 1, time: 1, mget: 3, set: 3 });
});

it('a refusal of one of three limits is one EVALSHA that writes nothing, and leaves the others untouched', async () => {
  for (let i = 0; i < 3; i++) await limiter.consumeAll(all);
  await forgetCommands(admin);
  const { allowed, decisions, binding } = await limiter.consumeAll(all);
  expect([allowed, binding.policy]).toEqual([false, 'route']);
  expect(await commandCounts(admin)).toEqual({ evalsha: 1, time: 1, mget: 3 });
  expect(decisions.map(({ remaining }) => remaining)).toEqual([97, 97, 0]);
  for (const limit of ['ip', 'account']) {
    expect((await limiter.getInfo('alice', limit))?.available).toBe(97);
  }
});

it('a storm of refusals writes nothing at all', async () => {
  for (let i = 0; i < 3; i++) await limiter.consume('bob', 'route');
  const [key] = await admin.keys('*:route:route:bob');
  const before = [await admin.getBuffer(key), await admin.pexpiretime(key)];
  await forgetCommands(admin);
  await Promise.all(Array.from({ length: 500 }, () => limiter.consume('bob', 'route')));
  const { evalsha, eval: whole = 0, ...inside } = await commandCounts(admin);
  // They leave together, so there are far fewer calls than checks.
  expect(evalsha + whole).toBeLessThan(20);
  expect(inside).toEqual({ time: inside.mget, mget: inside.time });
  expect([await admin.getBuffer(key), await admin.pexpiretime(key)]).toEqual(before);
});

it('peek and getInfo only read, and make no key', async () => {
  await limiter.peek('new', 'ip');
  await limiter.getInfo('new', 'ip');
  expect(await commandCounts(admin)).toEqual({ evalsha: 2, time: 2, mget: 2 });
  expect(await admin.keys('*:new')).toEqual([]);
});

it('reset is a DEL', async () => {
  await limiter.consume('alice', 'route', { cost: 3 });
  await forgetCommands(admin);
  await limiter.reset('alice', 'route');
  expect(await commandCounts(admin)).toEqual({ del: 1 });
  expect((await limiter.consume('alice', 'route', { cost: 3 })).allowed).toBe(true);
});

it('a script that the server forgot is sent whole once, and charged once', async () => {
  await limiter.consume('alice', 'ip');
  await admin.script('FLUSH');
  await forgetCommands(admin);
  const decisions = await Promise.all([1, 2, 3].map(() => limiter.consume('alice', 'ip')));
  expect(decisions.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual([96, 97, 98]);
  const { evalsha, eval: whole } = await commandCounts(admin);
  expect(evalsha + whole).toBeLessThanOrEqual(6);
  await forgetCommands(admin);
  await limiter.consume('alice', 'ip');
  expect(await commandCounts(admin)).toMatchObject({ evalsha: 1 });
});

it('every key that a script touches is among its KEYS (B65)', async () => {
  const { touched, undeclared } = await KeyWatch.over(admin, async () => {
    await limiter.consumeAll(all);
    await limiter.consumeAll([...all, { key: 'alice', limit: 'route' }].slice(1));
    await limiter.peek('alice', 'ip');
    const store = new RedisStore(redis);
    const limit = parseLimit({ rate: 0.001, capacity: 2 }, 'test');
    const charge = { bucket: 'x', place: 'p', limit, price: limit.q * 1000, maxWaitUs: 1e6 };
    const [{ startsAtUs = 0 }] = await store.take([charge]);
    await store.giveBack([{ ...charge, startsAtUs }]);
  });
  expect(undeclared).toEqual([]);
  // Three limits, two, a look, a charge and its return: bucket and configuration read, bucket written.
  expect(touched).toBe(3 * 3 + 2 * 3 + 2 + 3 + 3);
});
