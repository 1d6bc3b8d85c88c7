import { bucketNamer } from '../core/bucket-key';
import { MissingKeyError } from '../core/errors';
import { MemoryStore } from '../store/memory/memory-store';
import { ResilientStore } from '../store/resilient/resilient-store';
import { LimiterEmitter } from './events';
import { PolicyRegistry, type PolicyRegistryOptions } from './policy-registry';
import { RateLimiter } from './rate-limiter';

function limiterAt(options: PolicyRegistryOptions = {}) {
  let ms = 1_000_000;
  const clock = { nowMs: () => ms, monotonicMs: () => ms };
  const store = new ResilientStore(new MemoryStore({ clock }), { timeoutMs: 250 });
  const limiter = new RateLimiter(
    store,
    new PolicyRegistry(options, bucketNamer('rl')),
    new LimiterEmitter(),
  );
  return { limiter, advance: (by: number) => (ms += by) };
}

describe('RateLimiter', () => {
  it('lets a burst through, then the rate', async () => {
    const { limiter, advance } = limiterAt();
    const limit = { rate: 10, capacity: 20 };
    for (let left = 19; left >= 0; left--) {
      expect(await limiter.consume('a', limit)).toMatchObject({ allowed: true, remaining: left });
    }
    expect(await limiter.consume('a', limit)).toEqual({
      allowed: false,
      policy: 'default',
      key: 'a',
      cost: 1,
      limit: 20,
      remaining: 0,
      retryAfterMs: 100,
      resetAfterMs: 2000,
      source: 'memory',
      degraded: false,
    });
    advance(99);
    expect((await limiter.consume('a', limit)).allowed).toBe(false);
    advance(1);
    expect((await limiter.consume('a', limit)).allowed).toBe(true);
  });

  it.each(['', undefined, null, 5, {}])('knows no key %p: nobody shares a bucket', async (key) => {
    const { limiter } = limiterAt({ limit: { rate: 1 } });
    const calls = [
      limiter.consume(key as string),
      limiter.consumeAll([{ key: 'a' }, { key: key as string }]),
      limiter.peek(key as string),
      limiter.getInfo(key as string),
      limiter.reset(key as string),
      limiter.configure(key as string, { rate: 1 }),
      limiter.block(key as string, undefined, 5),
    ];
    for (const call of calls) await expect(call).rejects.toThrow(MissingKeyError);
    expect(await limiter.getInfo('a')).toBeNull();
  });

  it('charges all or none, and the strictest binds', async () => {
    const { limiter } = limiterAt({
      policies: { a: { rate: 0.001, capacity: 10 }, b: { rate: 0.001, capacity: 2 } },
    });
    const both = [
      { key: 'k', limit: 'a' },
      { key: 'k', limit: 'b' },
    ];
    const answers = [];
    for (let i = 0; i < 8; i++) answers.push((await limiter.consumeAll(both)).allowed);
    expect(answers).toEqual([true, true, false, false, false, false, false, false]);
    expect(await limiter.getInfo('k', 'a')).toEqual({ available: 8, rate: 0.001, capacity: 10 });
    expect((await limiter.consumeAll(both)).binding.policy).toBe('b');
  });
});
