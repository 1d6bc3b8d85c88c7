import { bucketNamer } from '../core/bucket-key';
import { systemClock } from '../core/clock';
import type { Decision } from '../core/decision';
import {
  ConcurrencyExceededError,
  InvalidLimitError,
  LeaseLostError,
  LimiterClosedError,
  MissingKeyError,
  RateLimitExceededError,
  StoreUnavailableError,
  UnsupportedOperationError,
} from '../core/errors';
import { MemoryStore } from '../store/memory/memory-store';
import type { RateLimitStore } from '../store/rate-limit-store';
import { ResilientStore } from '../store/resilient/resilient-store';
import { ConcurrencyLimiter, type WithConcurrencyOptions } from './concurrency-limiter';
import { LimiterEmitter } from './events';
import { PolicyRegistry, type PolicyRegistryOptions } from './policy-registry';

const MAX_1: WithConcurrencyOptions = { max: 1 };

function limiter(options: PolicyRegistryOptions = {}, store: RateLimitStore = new MemoryStore()) {
  const registry = new PolicyRegistry(options, bucketNamer('rl'));
  const { leases } = new ResilientStore(store, { timeoutMs: 250 });
  const events = new LimiterEmitter();
  return { concurrency: new ConcurrencyLimiter(leases, registry, events), events };
}

/** Something that ends when a test says so. */
function task<T = string>() {
  let end!: (value: T) => void;
  let fail!: (error: Error) => void;
  const ended = new Promise<T>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { run: () => ended, end, fail };
}

describe('run', () => {
  it('gives what the function gives, at once or later', async () => {
    const { concurrency } = limiter();
    expect(await concurrency.run('k', MAX_1, () => 1)).toBe(1);
    expect(await concurrency.run('k', MAX_1, () => Promise.resolve('x'))).toBe('x');
  });

  it('refuses when as many are in flight as may be, and calls nothing', async () => {
    const { concurrency } = limiter();
    const first = task();
    const running = concurrency.run('k', MAX_1, first.run);
    const second = jest.fn();
    const refusal: unknown = await concurrency
      .run('k', MAX_1, second)
      .catch((thrown: unknown) => thrown);
    expect(second).not.toHaveBeenCalled();
    expect(refusal).toBeInstanceOf(ConcurrencyExceededError);
    expect(RateLimitExceededError.is(refusal)).toBe(true);
    expect(refusal).toMatchObject({
      code: 'RATE_LIMIT_CONCURRENCY_EXCEEDED',
      httpStatus: 429,
      message:
        'as many calls of "concurrency" are in flight as may be (1): try again when one has ended',
      decisions: [
        {
          allowed: false,
          policy: 'concurrency',
          key: 'k',
          cost: 1,
          limit: 1,
          remaining: 0,
          retryAfterMs: 1000,
          resetAfterMs: 1000,
          source: 'memory',
          degraded: false,
        } satisfies Decision,
      ],
    });
    first.end('done');
    expect(await running).toBe('done');
    expect(await concurrency.run('k', MAX_1, () => 'next')).toBe('next');
  });

  it('keys, names and scopes have slots of their own', async () => {
    const { concurrency } = limiter();
    const never = task();
    void concurrency.run('k', MAX_1, never.run);
    for (const [key, options] of [
      ['other', {}],
      ['k', { name: 'other' }],
      ['k', { scope: 'other' }],
    ] as const) {
      expect(await concurrency.run(key, { ...MAX_1, ...options }, () => 'in')).toBe('in');
    }
    await expect(
      concurrency.run('k', { ...MAX_1, name: 'concurrency', scope: 'app' }, () => 'in'),
    ).rejects.toBeInstanceOf(ConcurrencyExceededError);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('oops'))],
    [
      'throws at once',
      () => {
        throw new Error('oops');
      },
    ],
  ])('gives the slot back when the function %s', async (_, fn: () => Promise<never>) => {
    const { concurrency } = limiter();
    await expect(concurrency.run('k', MAX_1, fn)).rejects.toThrow('oops');
    expect(await concurrency.run('k', MAX_1, () => 'in')).toBe('in');
  });

  describe('with a signal', () => {
    it('that has aborted: its reason, and no slot', async () => {
      const { concurrency } = limiter();
      const reason = new Error('changed my mind');
      const fn = jest.fn();
      const signal = AbortSignal.abort(reason);
      await expect(concurrency.run('k', { ...MAX_1, signal }, fn)).rejects.toBe(reason);
      expect(fn).not.toHaveBeenCalled();
      expect(await concurrency.run('k', MAX_1, () => 'in')).toBe('in');
    });

    it('that aborts while the slot is asked for: its reason, and the slot is given back', async () => {
      const controller = new AbortController();
      const store = new MemoryStore();
      const shared: RateLimitStore = {
        source: 'shared',
        leases: {
          hold: async (request) => {
            controller.abort(new Error('too slow'));
            return Promise.resolve(store.leases.hold(request));
          },
          release: (request) => store.leases.release(request),
        },
        take: (charges) => store.take(charges),
        peek: (charges) => store.peek(charges),
        reset: (buckets) => store.reset(buckets),
      };
      const { concurrency } = limiter({}, shared);
      const fn = jest.fn();
      const asked = concurrency.run('k', { ...MAX_1, signal: controller.signal }, fn);
      await expect(asked).rejects.toThrow('too slow');
      expect(fn).not.toHaveBeenCalled();
      expect(store.leases.size).toBe(0);
    });

    it('that aborts while the function runs: the function is told, and keeps its slot until it ends', async () => {
      const { concurrency } = limiter();
      const controller = new AbortController();
      const work = task();
      let given: AbortSignal | undefined;
      const running = concurrency.run('k', { ...MAX_1, signal: controller.signal }, (signal) => {
        given = signal;
        return work.run();
      });
      await Promise.resolve();
      expect(given?.aborted).toBe(false);
      const reason = new Error('stop');
      controller.abort(reason);
      expect(given?.reason).toBe(reason);
      await expect(concurrency.run('k', MAX_1, () => 'in')).rejects.toThrow('in flight');
      work.end('finished all the same');
      expect(await running).toBe('finished all the same');
      expect(await concurrency.run('k', MAX_1, () => 'in')).toBe('in');
    });

    it('leaves no listener behind', async () => {
      const { concurrency } = limiter();
      const { signal } = new AbortController();
      const removed = jest.spyOn(signal, 'removeEventListener');
      const added = jest.spyOn(signal, 'addEventListener');
      await concurrency.run('k', { ...MAX_1, signal }, () => 'in');
      expect(removed.mock.calls).toEqual(added.mock.calls);
    });
  });

  it('in shadow mode refuses nobody, and tells whom it would have', async () => {
    const { concurrency, events } = limiter({ mode: 'shadow', onStoreFailure: 'closed' });
    const denied: [string, boolean][] = [];
    events.on('denied', ({ policy }, { shadow }) => denied.push([policy, shadow]));
    void concurrency.run('k', MAX_1, task().run);
    expect(await concurrency.run('k', MAX_1, () => 'in')).toBe('in');
    expect(denied).toEqual([['concurrency', true]]);
  });

  it('tells its decisions', async () => {
    const { concurrency, events } = limiter();
    const told: string[] = [];
    events.on('allowed', ({ remaining }) => told.push(`allowed ${remaining}`));
    events.on('denied', (_, { shadow }) => told.push(`denied ${shadow}`));
    void concurrency.run('k', { max: 2 }, task().run);
    void concurrency.run('k', { max: 2 }, task().run);
    await concurrency.run('k', { max: 2 }, () => 'in').catch(() => undefined);
    expect(told).toEqual(['allowed 1', 'allowed 0', 'denied false']);
  });

  it.each<[unknown, unknown, unknown, string]>([
    ['k', { max: 0 }, () => 1, 'withConcurrency: max 0 is not a whole number from 1 to 1000000'],
    ['k', { max: 1.5 }, () => 1, 'max 1.5 is not'],
    ['k', { max: NaN }, () => 1, 'max NaN is not'],
    ['k', { max: '5' }, () => 1, 'max "5" is not'],
    ['k', {}, () => 1, 'max undefined is not'],
    [
      'k',
      undefined,
      () => 1,
      'withConcurrency: undefined is not a concurrency limit: give { max }',
    ],
    ['k', { max: 1, leaseMs: 99 }, () => 1, 'leaseMs 99 is not a whole number from 100 to 3600000'],
    ['k', { max: 1, leaseMs: Infinity }, () => 1, 'leaseMs Infinity is not'],
    ['k', { max: 1, name: 'No' }, () => 1, 'name "No" is not a policy name'],
    ['k', { max: 1, scope: '' }, () => 1, 'scope "" is not a text'],
    ['k', { max: 1, scope: 5 }, () => 1, 'scope 5 is not a text'],
    ['k', { max: 1, mode: 'off' }, () => 1, 'mode "off" is unknown'],
    ['k', { max: 1, signal: {} }, () => 1, 'signal an object is not an AbortSignal'],
    ['k', { max: 1, signal: null }, () => 1, 'signal null is not an AbortSignal'],
    ['k', { max: 1 }, 'x', '"x" is not a function to run'],
  ])('refuses %p %p %p', async (key, options, fn, message) => {
    const { concurrency } = limiter();
    const asked = concurrency.run(
      key as string,
      options as WithConcurrencyOptions,
      fn as () => number,
    );
    await expect(asked).rejects.toBeInstanceOf(InvalidLimitError);
    await expect(asked).rejects.toThrow(message);
  });

  it('refuses a key that is no text', async () => {
    const { concurrency } = limiter();
    const asked = concurrency.run(undefined as unknown as string, MAX_1, () => 1);
    await expect(asked).rejects.toBeInstanceOf(MissingKeyError);
  });

  it('refuses after close', async () => {
    const { concurrency } = limiter();
    concurrency.close();
    const asked = concurrency.run('k', MAX_1, () => 1);
    await expect(asked).rejects.toBeInstanceOf(LimiterClosedError);
  });

  it('refuses with a store that has no slots', async () => {
    const { take, peek, reset } = new MemoryStore();
    const { concurrency } = limiter({}, { source: 'memory', take, peek, reset });
    const asked = concurrency.run('k', MAX_1, () => 1);
    await expect(asked).rejects.toBeInstanceOf(UnsupportedOperationError);
  });
});

describe('over a shared store', () => {
  class Shared implements RateLimitStore {
    readonly source = 'shared';
    readonly #memory = new MemoryStore({ clock: systemClock });
    isOut = false;

    readonly leases = {
      hold: (request: Parameters<MemoryStore['leases']['hold']>[0]) => {
        if (this.isOut) throw new StoreUnavailableError('gone');
        return this.#memory.leases.hold(request);
      },
      release: async (request: Parameters<MemoryStore['leases']['release']>[0]) =>
        this.#memory.leases.release(request),
    };
    take = () => [];
    peek = () => [];
    reset = () => undefined;
  }

  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('a lost slot aborts the signal that the function got', async () => {
    const store = new Shared();
    const { concurrency } = limiter({ onStoreFailure: 'closed' }, store);
    const running = concurrency.run(
      'k',
      { max: 1, leaseMs: 900 },
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    );
    const outcome = running.catch((thrown: unknown) => thrown);
    await jest.advanceTimersByTimeAsync(0);
    store.isOut = true;
    await jest.advanceTimersByTimeAsync(901);
    expect(await outcome).toBeInstanceOf(LeaseLostError);
    expect(await outcome).toMatchObject({ code: 'RATE_LIMIT_LEASE_LOST', httpStatus: 503 });
    concurrency.close();
  });

  it('has given the slot back when it says that all is over', async () => {
    const store = new Shared();
    const { concurrency } = limiter({}, store);
    const order: string[] = [];
    store.leases.release = async () => {
      await new Promise((resolve) => setTimeout(resolve, 10));
      order.push('released');
    };
    const over = concurrency.run('k', MAX_1, () => order.push('ran'));
    void over.then(() => order.push('over'));
    await jest.advanceTimersByTimeAsync(20);
    expect(order).toEqual(['ran', 'released', 'over']);
    concurrency.close();
  });

  it('without the store: local limits to the same number, or to a share of it', async () => {
    const store = new Shared();
    store.isOut = true;
    const { concurrency } = limiter({ localShare: 0.5 }, store);
    const options = { max: 5 };
    const all = Array.from({ length: 5 }, () =>
      concurrency.run('k', options, task().run).catch((thrown: unknown) => thrown),
    );
    await jest.advanceTimersByTimeAsync(0);
    const settled = await Promise.all(all.slice(2));
    expect(settled.every((error) => ConcurrencyExceededError.is(error))).toBe(true);
    concurrency.close();
  });

  it('without the store: closed is 503', async () => {
    const store = new Shared();
    store.isOut = true;
    const { concurrency } = limiter({}, store);
    const asked = concurrency.run('k', { max: 1, onStoreFailure: 'closed' }, () => 1);
    await expect(asked).rejects.toThrow(
      'the rate limit store is out and concurrency limit "concurrency" is closed without it',
    );
    concurrency.close();
  });
});
