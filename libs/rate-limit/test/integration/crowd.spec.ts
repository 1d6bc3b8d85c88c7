// A crowd at one bucket: exactly the capacity passes, wherever the bucket lives and whoever asks.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { MemoryStore } from '../../src/store/memory/memory-store';
import { RedisStore } from '../../src/store/redis/redis-store';
import type { RateLimiter } from '../../src/limiter/rate-limiter';
import { limiterOver } from '../support/limiter';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

const LIMIT = { rate: 1e-6, capacity: 100 };

async function allowedOf(limiter: RateLimiter, calls: number): Promise<number> {
  const decisions = await Promise.all(
    Array.from({ length: calls }, () => limiter.consume('crowd', LIMIT)),
  );
  return decisions.filter(({ allowed }) => allowed).length;
}

it('1000 at once over memory: exactly 100 pass', async () => {
  expect(await allowedOf(limiterOver(new MemoryStore()), 1000)).toBe(100);
});

it('1000 at once over Redis: exactly 100 pass', async () => {
  const client = new Redis(sharedRedisUrl());
  const limiter = limiterOver(new RedisStore(client), {
    keyPrefix: uniquePrefix(),
    timeoutMs: 20_000,
  });
  expect(await allowedOf(limiter, 1000)).toBe(100);
  client.disconnect();
});

it('1000 at once through two processes: exactly 100 pass', async () => {
  const keyPrefix = uniquePrefix();
  const children = [500, 500].map((calls) =>
    fork(
      join(__dirname, '../support/consumer-process.ts'),
      [sharedRedisUrl(), keyPrefix, `${calls}`],
      { execArgv: ['-r', join(__dirname, '../support/queue-ts-hook.cjs')] },
    ),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  const counts = await Promise.all(children.map(consumed));
  expect(counts[0] + counts[1]).toBe(100);
}, 30_000);

async function consumed(child: ChildProcess): Promise<number> {
  const answer = once(child, 'message');
  const ended = once(child, 'exit');
  child.send('go');
  const [{ allowed }] = (await answer) as [{ allowed: number }];
  await ended;
  return allowed;
}
