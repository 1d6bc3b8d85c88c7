import { InvalidLimitError, MissingKeyError } from '../core/errors';
import { type Caller } from './caller';
import { type KeyResolver, keyText, resolveKey } from './key-resolver';
import { byUser } from './key-resolvers';

const caller: Caller = { transport: 'http', headers: {}, args: [] };

describe('keyText', () => {
  it.each([
    ['abc', 'abc'],
    [' ', ' '],
    ['undefined', 'undefined'],
    ['__proto__', '__proto__'],
    [0, '0'],
    [-0, '0'],
    [5, '5'],
    [1.5, '1.5'],
    [123n, '123'],
    [2n ** 80n, '1208925819614629174706176'],
  ])('of %p is %p', (value, expected) => {
    expect(keyText(value)).toBe(expected);
  });

  it.each([undefined, null, '', NaN, Infinity, -Infinity])('of %p is missing', (value) => {
    expect(keyText(value)).toBeUndefined();
  });

  it.each([{}, [], ['a'], () => 'a', Symbol('a'), true, false, new Date(0)])(
    'refuses %p rather than put everybody into one bucket',
    (value) => {
      expect(() => keyText(value)).toThrow(InvalidLimitError);
      expect(() => keyText(value)).toThrow(`a value of type ${typeof value}`);
    },
  );
});

describe('resolveKey', () => {
  it('is there at once when the resolver answers at once', () => {
    expect(resolveKey(() => 7, caller, undefined)).toBe('7');
  });

  it('waits for a promise, and for anything with then', async () => {
    const query = { then: (done: (value: string) => void) => done('row') };
    await expect(resolveKey(async () => 'a', caller, undefined)).resolves.toBe('a');
    await expect(resolveKey((() => query) as never, caller, undefined)).resolves.toBe('row');
  });

  it.each([undefined, null, '', NaN])('turns %p into a MissingKeyError with 400', async (value) => {
    const missing = expect.objectContaining({ name: 'MissingKeyError', httpStatus: 400 });
    expect(() => resolveKey(() => value, caller, undefined)).toThrow(missing);
    await expect(resolveKey(async () => value, caller, undefined)).rejects.toEqual(missing);
  });

  it('reports what was missing, with the status of the resolver', () => {
    expect(() => resolveKey(byUser(), caller, undefined)).toThrow(
      new MissingKeyError('no key to limit this call by: the caller is not logged in', 401),
    );
    expect(() => resolveKey(byUser(), caller, undefined)).toThrow(
      expect.objectContaining({ httpStatus: 401 }),
    );
  });

  it('lets other errors through', async () => {
    const broken = new Error('database down');
    const sync: KeyResolver = () => {
      throw broken;
    };
    expect(() => resolveKey(sync, caller, undefined)).toThrow(broken);
    await expect(resolveKey(() => Promise.reject(broken), caller, undefined)).rejects.toBe(broken);
  });

  it('hands the context through, typed', () => {
    const byClass: KeyResolver<{ getClass(): { name: string } }> = (_, context) =>
      context.getClass().name;
    class Orders {}
    expect(resolveKey(byClass, caller, { getClass: () => Orders })).toBe('Orders');
  });
});
