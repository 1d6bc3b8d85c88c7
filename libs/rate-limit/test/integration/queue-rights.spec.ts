// What a queue may do in Redis, and what it says when it may not.
import { Redis } from 'ioredis';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreConfigurationError } from '../../src/core/errors';
import { OutageLog } from '../../src/queue/outage-log';
import { LocalQueue } from '../support/queue-local';
import { RedisServer } from '../support/redis-server';

const operations = readFileSync(join(__dirname, '../../../../docs/operations.md'), 'utf8');
const DOCUMENTED = /ACL SETUSER queue (.*)/.exec(operations)?.[1].split(' ') as string[];

let server: RedisServer;
let admin: Redis;
let local: LocalQueue | undefined;
beforeAll(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
});
afterEach(() => local?.close());
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

/** A user with the rights of the documentation, and changes to them. */
async function userWith(...changes: string[]): Promise<string> {
  await admin.call('ACL', 'SETUSER', 'queue', 'reset', ...DOCUMENTED, ...changes);
  return `redis://queue:change-me@127.0.0.1:${server.port}`;
}

/** What an OutageLog makes of the errors so far. */
function logged(): string[] {
  const lines: string[] = [];
  const note = (line: string) => lines.push(line);
  const log = new OutageLog({ error: note, log: note });
  for (const error of local?.errors ?? []) log.error(error);
  return lines;
}

const OPTIONS = { rate: 1000, capacity: 5, keyPrefix: 'rl' };

it('has the documented rights, and needs no others', async () => {
  local = await LocalQueue.start({ ...OPTIONS, redis: await userWith(), job: { attempts: 2 } });
  const { queue } = local;
  const tickets = await queue.submitMany(
    Array.from({ length: 20 }, (_, n) => ({ data: { n }, idempotencyKey: `k${n}` })),
  );
  await Promise.all(tickets.map((ticket) => ticket.result()));
  await queue.pause();
  await queue.resume();
  await queue.pauseKey('all', 100);
  const cancelled = await queue.submit('x');
  expect(await cancelled.cancel()).toBe(true);
  expect(await queue.counts()).toMatchObject({ waiting: 0 });
  await queue.status(tickets[0].id);
  await queue.drain();
  await delay(2500);
  expect(logged()).toEqual([]);
  expect(await admin.call('ACL', 'LOG')).toEqual([]);
}, 20_000);

it.each([
  { lacks: '-evalsha', named: /NOPERM .*'evalsha'/ },
  { lacks: '-hset', named: /redis\.call\('HSET'/ },
  { lacks: '-subscribe', named: /NOPERM .*'subscribe'/, submits: true },
])(
  'without the right $lacks it says so, loudly and once',
  async ({ lacks, named, submits }) => {
    local = await LocalQueue.start({ ...OPTIONS, redis: await userWith(lacks), timeoutMs: 1000 });
    const refused = new Set<boolean>();
    for (let i = 0; i < 5; i++) {
      const end = await local.queue.submit({ i }).catch((error: unknown) => error);
      refused.add(StoreConfigurationError.is(end));
      await delay(200);
    }
    expect([...refused]).toEqual([submits !== true]);
    const lines = logged();
    expect(lines.filter((line) => named.test(line))).not.toEqual([]);
    // One a thing that is refused, however often it was tried.
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.length).toBeLessThan(8);
    expect(local.errors.length).toBeGreaterThanOrEqual(submits === true ? 1 : 10);
    expect(await admin.zcard(`bull:${local.queue.name}:delayed`)).toBe(0);
  },
  20_000,
);

it('names the key that it may not touch', async () => {
  const redis = await userWith('resetkeys', '~other:*', '~bull:*');
  local = await LocalQueue.start({ ...OPTIONS, redis, timeoutMs: 1000 });
  await expect(local.queue.submit('x')).rejects.toThrow(
    `evalsha rl:{queue:${local.queue.name}}:lane:`,
  );
}, 20_000);

it('a wrong password is a refusal, not an outage', async () => {
  await userWith();
  const redis = `redis://queue:wrong@127.0.0.1:${server.port}`;
  local = await LocalQueue.start({ ...OPTIONS, redis, timeoutMs: 500, submitOnly: true });
  await expect(local.queue.submit('x')).rejects.toThrow(/WRONGPASS/);
  await expect(local.queue.submit('x')).rejects.toBeInstanceOf(StoreConfigurationError);
  await delay(1500);
  expect(logged().filter((line) => line.includes('WRONGPASS'))).toHaveLength(1);
}, 20_000);

it('a job that may not be asked for waits until it may, and burns no attempt', async () => {
  local = await LocalQueue.start({ ...OPTIONS, redis: await userWith(), job: { attempts: 1 } });
  await (await local.queue.submit('before')).result();
  await local.queue.pause();
  const ticket = await local.queue.submit('waits');
  await userWith('-hget');
  await local.queue.resume();
  await delay(1000);
  expect(local.ran).toEqual(['before']);
  await userWith();
  expect(await ticket.result()).toEqual({ did: 'waits' });
}, 20_000);
