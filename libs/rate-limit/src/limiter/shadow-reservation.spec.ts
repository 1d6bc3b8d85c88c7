// Shadow mode in calls that wait, reserve and settle: counted and told, and nobody is refused or held up.
import { limiterOver } from '../../test/support/limiter';
import { MemoryStore } from '../store/memory/memory-store';
import { FakeClock } from '../testing';

const LIMIT = { rate: 1, capacity: 2 };

function setup() {
  const clock = new FakeClock();
  const limiter = limiterOver(new MemoryStore({ clock }), {
    clock,
    policies: {
      new: { ...LIMIT, mode: 'shadow' as const },
      other: { ...LIMIT, mode: 'shadow' as const },
      old: { rate: 1, capacity: 5 },
    },
  });
  const told: string[] = [];
  limiter.events.on('denied', ({ policy }, { shadow }) => told.push(`${policy} ${shadow}`));
  const left = async (policy: string) => (await limiter.getInfo('k', policy))?.available;
  return { clock, limiter, told, left };
}

it('acquire passes at once, is charged as if it had waited, and tells whom it would have refused', async () => {
  const { limiter, clock, told } = setup();
  for (let i = 0; i < 5; i++) {
    expect(await limiter.acquire('s', 'new', { timeoutMs: 2000 })).toMatchObject({
      allowed: true,
      retryAfterMs: 0,
      waitedMs: 0,
    });
  }
  // Two from the burst and two within the time; the fifth was told to be too late.
  expect(told).toEqual(['new true']);
  expect(clock.pending).toBe(0);
});

it('a warm-up that only shadows holds nobody up', async () => {
  const clock = new FakeClock();
  const limiter = limiterOver(new MemoryStore({ clock }), { clock, mode: 'shadow' });
  const cold = { ...LIMIT, warmUpMs: 5000 };
  for (let i = 0; i < 3; i++) {
    expect(await limiter.acquire('k', cold)).toMatchObject({ allowed: true, waitedMs: 0 });
  }
});

it('peek says what consume says', async () => {
  const { limiter } = setup();
  await limiter.consume('k', 'new', { cost: 2 });
  expect(await limiter.peek('k', 'new')).toMatchObject({ allowed: true, retryAfterMs: 0 });
  expect(await limiter.consume('k', 'new')).toMatchObject({ allowed: true, retryAfterMs: 0 });
});

it('a reservation starts now, and gives back only what was taken', async () => {
  const { limiter, told, left } = setup();
  const taken = await limiter.reserve('k', 'new', { cost: 2 });
  const refused = await limiter.reserve('k', 'new', { cost: 1 });
  const later = await limiter.reserve('k', 'new', { cost: 1, maxWaitMs: 5000 });
  expect([taken, refused, later].map(({ allowed, delayMs }) => [allowed, delayMs])).toEqual([
    [true, 0],
    [true, 0],
    [true, 0],
  ]);
  expect(told).toEqual(['new true']);
  await refused.settle(0);
  expect(await left('new')).toBe(0);
  await later.settle(0);
  await taken.settle(1);
  expect(await left('new')).toBe(1);
});

it('shadows beside limits that enforce neither refuse nor are refused with them', async () => {
  const { limiter, told, left } = setup();
  const charges = [
    { key: 'k', limit: 'new', cost: 2 },
    { key: 'k', limit: 'old', cost: 3 },
    { key: 'k', limit: 'other', cost: 1 },
  ];
  const first = await limiter.reserveAll(charges);
  expect(first).toMatchObject({ allowed: true, delayMs: 0, binding: { policy: 'old' } });
  expect(first.decisions.map(({ policy }) => policy)).toEqual(['new', 'old', 'other']);
  const second = await limiter.reserveAll([charges[0], { ...charges[1], cost: 1 }]);
  expect(second).toMatchObject({
    allowed: true,
    decisions: [{ allowed: true }, { allowed: true }],
  });
  expect(told).toEqual(['new true']);
  await first.settle([1, 1, 0]);
  expect([await left('new'), await left('old'), await left('other')]).toEqual([1, 3, undefined]);
  await expect(second.settle([1])).rejects.toMatchObject({ code: 'RATE_LIMIT_INVALID_COST' });
  await second.cancel();
  expect([await left('new'), await left('old')]).toEqual([1, 4]);
});

it('a budget runs when only a shadow has no room', async () => {
  const { limiter, left } = setup();
  await limiter.consume('k', 'new', { cost: 2 });
  const charges = [
    { key: 'k', limit: 'old', cost: 4 },
    { key: 'k', limit: 'new', cost: 2 },
  ];
  const ran = limiter.withBudget(charges, { maxWaitMs: 0 }, (hold) => {
    hold.used(1, 'old');
    return 'done';
  });
  expect(await ran).toBe('done');
  expect([await left('old'), await left('new')]).toEqual([4, 0]);
});

it('a cost that can never be is found before anything is charged', async () => {
  const { limiter } = setup();
  const charges = [
    { key: 'k', limit: 'old' },
    { key: 'k', limit: 'new', cost: 3 },
  ];
  const code = 'RATE_LIMIT_COST_EXCEEDS_CAPACITY';
  await expect(limiter.consumeAll(charges)).rejects.toMatchObject({ code });
  await expect(limiter.reserveAll(charges)).rejects.toMatchObject({ code });
  expect(await limiter.getInfo('k', 'old')).toBeNull();
});
