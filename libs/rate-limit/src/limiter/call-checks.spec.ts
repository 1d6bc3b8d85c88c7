// What is wrong with a call's options is an error of this library that names them, and nothing is charged.
import { InvalidLimitError } from '../core/errors';
import { limiterOver } from '../../test/support/limiter';
import { MemoryStore } from '../store/memory/memory-store';
import { FakeClock } from '../testing';

const LIMIT = { rate: 1, capacity: 5 };
const none = null as never;
const limiter = limiterOver(new MemoryStore({ clock: new FakeClock() }), { limit: LIMIT });
const charges = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ key: `many ${i}`, limit: LIMIT }));

it.each<[what: string, call: () => Promise<unknown>, message: string]>([
  ['acquire', () => limiter.acquire('k', LIMIT, none), 'acquire: null is not a set of options'],
  ['reserve', () => limiter.reserve('k', LIMIT, none), 'reserve: null is not'],
  ['reserveAll', () => limiter.reserveAll([{ key: 'k' }], none), 'reserveAll: null is not'],
  [
    'withBudget',
    () => limiter.withBudget([{ key: 'k' }], undefined as never, () => 1),
    'withBudget: undefined is not a set of options',
  ],
  ['reset', () => limiter.reset('k', LIMIT, none), 'reset: null is not'],
  ['configure', () => limiter.configure('k', LIMIT, none), 'configure: null is not'],
  ['clearConfiguration', () => limiter.clearConfiguration('k', none), 'clearConfiguration: null'],
  ['a charge', () => limiter.consumeAll([{ key: 'k' }, none]), 'consumeAll: null is not a charge'],
  ['no charges', () => limiter.consumeAll([]), 'is not a list of at least one charge'],
  ['a scope', () => limiter.consume('k', LIMIT, { scope: 7 as never }), 'scope 7 is not a text'],
  ['an empty scope', () => limiter.peek('k', LIMIT, { scope: '' }), 'scope "" is not a text'],
  [
    'a scope to reset',
    () => limiter.reset('k', LIMIT, { scope: {} as never }),
    'scope an object is not a text',
  ],
  ['too many charges', () => limiter.consumeAll(charges(1001)), '1001 charges are more than the'],
])('refuses %s', async (_, call, message) => {
  const thrown = await call().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(InvalidLimitError);
  expect((thrown as Error).message).toContain(message);
  expect(await limiter.getInfo('k')).toBeNull();
  expect(await limiter.getInfo('many 0')).toBeNull();
});
