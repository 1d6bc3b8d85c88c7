import { bucketNamer } from '../core/bucket-key';
import type { Limit } from '../core/limit';
import { LimiterEmitter } from '../limiter/events';
import { PolicyRegistry } from '../limiter/policy-registry';
import { RateLimiter } from '../limiter/rate-limiter';
import { MemoryStore } from '../store/memory/memory-store';
import { ResilientStore } from '../store/resilient/resilient-store';
import { FakeClock } from '../testing';
import { Admissions } from './admission';
import type { CallCharge } from './call-charges';
import type { DeferTo } from './rate-limit.options';

const toQueue: DeferTo = { queue: 'jobs', wrap: () => undefined };

function setUp() {
  const clock = new FakeClock();
  const registry = new PolicyRegistry({}, bucketNamer('rl'));
  const limiter = new RateLimiter(
    new ResilientStore(new MemoryStore({ clock }), { timeoutMs: 250 }),
    registry,
    new LimiterEmitter(),
  );
  const told: string[] = [];
  limiter.events.on('allowed', ({ policy }) => told.push(`${policy} allowed`));
  limiter.events.on('denied', ({ policy }) => told.push(`${policy} denied`));
  const waits: number[] = [];
  let interrupted: Error | undefined;
  const waiters = {
    checkRoom: () => undefined,
    wait: (ms: number) => {
      waits.push(ms);
      if (interrupted !== undefined) return Promise.reject(interrupted);
      clock.advance(ms);
      return Promise.resolve();
    },
  };
  const admissions = new Admissions(limiter, waiters);
  const charge = (
    name: string,
    limit: Limit,
    onLimit: 'reject' | 'wait' | DeferTo = 'reject',
    maxWaitMs = 0,
  ): CallCharge => {
    const scoped = registry.inline({ ...limit, name }, {}, 'test', 'app');
    const variant = { scoped, onLimit, maxWaitMs } as CallCharge['variant'];
    return { scoped, key: 'ann', cost: 1, variant };
  };
  const left = async (name: string, limit: Limit) =>
    (await limiter.getInfo('ann', { ...limit, name }))?.available ?? limit.capacity;
  return {
    admit: (...charges: CallCharge[]) => admissions.admit(charges, () => () => undefined),
    charge,
    clock,
    told,
    waits,
    left,
    interrupt: (reason: Error) => (interrupted = reason),
  };
}

describe('Admissions', () => {
  const five = { rate: 1, capacity: 5 };
  const one = { rate: 10, capacity: 1 };

  it('charges all together while all have tokens', async () => {
    const { admit, charge, told, left, waits } = setUp();
    const admission = await admit(charge('a', five), charge('w', one, 'wait', 1000));
    expect(admission).toMatchObject({ allowed: true, deferred: undefined });
    expect(admission.decisions.map(({ decision }) => decision.policy)).toEqual(['a', 'w']);
    expect([await left('a', five), await left('w', one)]).toEqual([4, 0]);
    expect([told, waits]).toEqual([['a allowed', 'w allowed'], []]);
  });

  it('waits for the one that waits, and charges the others at that moment', async () => {
    const { admit, charge, told, left, waits } = setUp();
    const w = charge('w', one, 'wait', 1000);
    await admit(charge('a', five), w);
    const admission = await admit(charge('a', five), w);
    expect(waits).toEqual([100]);
    expect(admission.allowed).toBe(true);
    expect(admission.decisions.map(({ decision }) => decision.allowed)).toEqual([true, true]);
    expect(await left('a', five)).toBe(3);
    expect(told.slice(2)).toEqual(['w allowed', 'a allowed']);
  });

  it('waits as long as allowed, and not a moment longer', async () => {
    const { admit, charge, told, waits, clock } = setUp();
    const w = charge('w', one, 'wait', 100);
    await admit(w);
    expect((await admit(w)).allowed).toBe(true);
    clock.set(clock.nowMs() - 1);
    const refused = await admit(w);
    expect(refused.allowed).toBe(false);
    expect(refused.decisions[0].decision).toMatchObject({ allowed: false, retryAfterMs: 101 });
    expect(waits).toEqual([100]);
    expect(told.at(-1)).toBe('w denied');
  });

  it('a refusal of another goes before waiting', async () => {
    const { admit, charge, left, waits } = setUp();
    const a = charge('a', one);
    const w = charge('w', one, 'wait', 1000);
    await admit(a, w);
    expect(await admit(a, w)).toMatchObject({ allowed: false });
    expect([waits, await left('w', { rate: 10, capacity: 1 })]).toEqual([[], 0]);
  });

  it('gives the place back when another refuses at the moment of start', async () => {
    const { admit, charge, clock, left } = setUp();
    const day = { rate: 1, per: 'day', capacity: 2 } as const;
    const w = charge('w', one, 'wait', 1000);
    await admit(charge('a', day), w);
    // Between the two questions somebody takes the last of it.
    const thief = charge('a', day);
    const racing = admit(charge('a', day), w);
    await admit(thief);
    expect((await racing).allowed).toBe(false);
    // It waited 100 ms and gave all of it back: the token of that moment is there.
    expect(await left('w', one)).toBe(1);
    expect((await admit(w)).allowed).toBe(true);
    expect(clock.nowMs()).toBe(1_767_225_600_100);
  });

  it('gives the place back when the wait is ended', async () => {
    const { admit, charge, clock, interrupt, left } = setUp();
    const w = charge('w', one, 'wait', 1000);
    await admit(w);
    interrupt(new Error('gone'));
    await expect(admit(w)).rejects.toThrow('gone');
    clock.advance(100);
    expect(await left('w', one)).toBe(1);
  });

  it('defers when only that limit refuses, and charges the others', async () => {
    const { admit, charge, left, told } = setUp();
    const d = charge('d', one, toQueue);
    await admit(charge('a', five), d);
    const admission = await admit(charge('a', five), d);
    expect(admission).toMatchObject({ allowed: true, deferred: d });
    expect(admission.decisions[1].decision).toMatchObject({
      policy: 'd',
      allowed: true,
      remaining: 0,
      retryAfterMs: 0,
    });
    expect(await left('a', five)).toBe(3);
    expect(told).toEqual(['a allowed', 'd allowed', 'a allowed']);
  });

  it('a caller cannot defer past a limit that rejects', async () => {
    const { admit, charge } = setUp();
    const d = charge('d', one, toQueue);
    const twice = { rate: 1, per: 'day', capacity: 2 } as const;
    const admitted = [];
    for (let i = 0; i < 4; i++) {
      const { allowed, deferred } = await admit(charge('a', twice), d);
      admitted.push([allowed, deferred === d]);
    }
    expect(admitted.map(([allowed]) => allowed)).toEqual([true, true, false, false]);
    expect(admitted[1]).toEqual([true, true]);
  });

  it('defers before it waits', async () => {
    const { admit, charge, waits } = setUp();
    const d = charge('d', one, toQueue);
    const w = charge('w', { rate: 1, capacity: 1 }, 'wait', 5000);
    await admit(w, d);
    expect(await admit(w, d)).toMatchObject({ allowed: true, deferred: d });
    expect(waits).toEqual([1000]);
  });
});
