// The test harness itself: a harness that only seems to freeze or kill a server would make chaos tests pass.
import { transformFileSync } from '@swc/core';
import { Redis } from 'ioredis';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer, sharedRedisUrl, uniquePrefix } from '../support/redis-server';

function client(url: string): Redis {
  const options = { retryStrategy: () => 20, commandTimeout: 300, maxRetriesPerRequest: 0 };
  return new Redis(url, options).on('error', () => undefined);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a private server', () => {
  let server: RedisServer;
  let redis: Redis;

  beforeEach(async () => {
    server = await RedisServer.start('--maxmemory', '50mb');
    redis = client(server.url);
  });
  afterEach(async () => {
    redis.disconnect();
    await server.stop();
  });

  it('answers, and has the extra arguments', async () => {
    expect(await redis.config('GET', 'maxmemory')).toEqual(['maxmemory', '52428800']);
  });

  it('is silent while paused and answers again when resumed, with its data', async () => {
    await redis.set('key', 'kept');
    server.pause();
    await expect(redis.get('key')).rejects.toThrow('Command timed out');
    server.resume();
    expect(await redis.get('key')).toBe('kept');
  });

  it('is gone when killed, and comes back empty on the same port', async () => {
    const { port, pid } = server;
    await redis.set('key', 'lost');
    await server.kill();
    expect(isRunning(pid as number)).toBe(false);
    await expect(redis.get('key')).rejects.toThrow('max retries per request');
    await server.restart();
    expect(server.port).toBe(port);
    // It may have found the server again before `restart` did.
    if (redis.status !== 'ready') await once(redis, 'ready');
    expect(await redis.get('key')).toBeNull();
  });

  it('stops while paused', async () => {
    const { pid } = server;
    server.pause();
    await server.stop();
    expect(isRunning(pid as number)).toBe(false);
  });

  it('says why it cannot start', async () => {
    const starting = RedisServer.start('--no-such-option', '1');
    await expect(starting).rejects.toThrow(/did not start: [^]*Bad directive/);
  });
});

it('a private server dies with a test process that was killed', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'harness-'));
  const { code } = transformFileSync(join(__dirname, '../support/redis-server.ts'), {
    swcrc: false,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'commonjs' },
  });
  const script = join(directory, 'harness.cjs');
  writeFileSync(
    script,
    `${code}\nRedisServer.start().then((server) => console.log(server.pid)); setInterval(() => {}, 1000);`,
  );
  const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [output] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(output);
  expect(isRunning(pid)).toBe(true);
  parent.kill('SIGKILL');
  for (let poll = 0; poll < 100 && isRunning(pid); poll += 1) await delay(20);
  expect(isRunning(pid)).toBe(false);
  rmSync(directory, { recursive: true });
});

it('the shared server answers, and prefixes differ', async () => {
  const redis = client(sharedRedisUrl());
  await once(redis, 'ready');
  expect(await redis.ping()).toBe('PONG');
  redis.disconnect();
  expect(uniquePrefix()).not.toBe(uniquePrefix());
});
