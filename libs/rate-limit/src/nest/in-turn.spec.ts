import { inTurn } from './in-turn';

describe('inTurn', () => {
  it('answers at once when all do', () => {
    expect(inTurn([1, 2, 3], (n) => n * 2)).toEqual([2, 4, 6]);
    expect(inTurn([], () => 1)).toEqual([]);
  });

  it('keeps the order when some answer later', async () => {
    const asked: number[] = [];
    const results = inTurn([1, 2, 3], (n) => {
      asked.push(n);
      return n === 2 ? Promise.resolve(n) : n;
    });
    expect(asked).toEqual([1, 2]);
    expect(await results).toEqual([1, 2, 3]);
    expect(asked).toEqual([1, 2, 3]);
  });

  it('does not ask on after a failure', async () => {
    const asked: number[] = [];
    const results = inTurn([1, 2], (n) => {
      asked.push(n);
      return Promise.reject(new Error('no'));
    });
    await expect(results).rejects.toThrow('no');
    expect(asked).toEqual([1]);
  });
});
