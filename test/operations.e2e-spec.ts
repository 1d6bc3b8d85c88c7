// What docs/operations.md says about a real Redis, tried on one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimiterService, tenantKey } from 'nest-rate-limit';
import { RedisServer } from '../libs/rate-limit/test/support/redis-server';
import { RunningDemo, statuses } from './support/demo';
import { ROOT } from './support/process';

const HANG_MS = 15_000;

jest.setTimeout(HANG_MS);

describe('the demo and its Redis', () => {
  let redis: RedisServer;
  let demo: RunningDemo;

  afterEach(async () => {
    await demo?.stop();
    await redis.stop();
  });

  it('is content with the rights that the documentation names', async () => {
    const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
    const rights = /^ACL SETUSER limiter (.*)$/m.exec(page)?.[1].split(' ') ?? [];
    redis = await RedisServer.start('--user', 'limiter', ...rights);
    const redisUrl = redis.url.replace('//', '//limiter:change-me@');
    demo = await RunningDemo.start({ redisUrl, keyPrefix: 'rl' });

    const answers = await demo.repeat(6, '/weather/oslo', { key: 'slow-key' });
    expect(statuses(answers)).toEqual([200, 200, 200, 200, 200, 429]);
    const limiter = demo.app.get(RateLimiterService, { strict: false });
    await limiter.reset(tenantKey('snail'));
    const { source } = await limiter.consume(tenantKey('snail'), { tier: 'slow' });
    expect(source).toBe('shared');
  });

  it('answers in time while Redis is frozen, from what it last saw, and shares again after', async () => {
    redis = await RedisServer.start();
    demo = await RunningDemo.start({ redisUrl: redis.url });
    await demo.repeat(3, '/weather/oslo', { key: 'slow-key' });

    redis.pause();
    const start = performance.now();
    const answers = await demo.repeat(6, '/weather/oslo', { key: 'slow-key' });
    // Three calls wait for the deadline of 250 ms, then nobody does.
    expect(performance.now() - start).toBeLessThan(2000);
    expect(statuses(answers).slice(0, 2)).toEqual([200, 200]);
    expect(statuses(answers)).toContain(429);

    redis.resume();
    const limiter = demo.app.get(RateLimiterService, { strict: false });
    for (;;) {
      const { source } = await limiter.peek(tenantKey('snail'), { tier: 'slow' });
      if (source === 'shared') break;
      await delay(50);
    }
    expect((await demo.call('/weather/oslo', { key: 'pro-key' })).status).toBe(200);
  });

  it('starts and limits without a Redis that was promised, and finds it when it comes', async () => {
    redis = await RedisServer.start();
    await redis.kill();
    demo = await RunningDemo.start({ redisUrl: redis.url });
    const answers = await demo.repeat(6, '/forecast/oslo?days=1', { key: 'slow-key' });
    expect(statuses(answers).filter((status) => status === 200).length).toBeGreaterThanOrEqual(5);

    await redis.restart();
    const limiter = demo.app.get(RateLimiterService, { strict: false });
    for (;;) {
      const { source } = await limiter.peek(tenantKey('snail'), { tier: 'slow' });
      if (source === 'shared') break;
      await delay(50);
    }
  });
});
