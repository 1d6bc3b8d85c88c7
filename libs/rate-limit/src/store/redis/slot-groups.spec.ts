import { parseLimit } from '../../core/limit';
import { allDone, bySlot, hashTag, inOrder, mostSpecificFirst } from './slot-groups';

it.each([
  ['rl:{x}:b', 'x'],
  ['{x}{y}', 'x'],
  ['a{b{c}d}', 'b{c'],
  // As Redis has it: an empty tag is none, and only the first brace counts.
  ['rl:{}{x}', 'rl:{}{x}'],
  ['}{x', '}{x'],
  ['plain', 'plain'],
])('the tag of %p is %p', (key, tag) => {
  expect(hashTag(key)).toBe(tag);
});

const buckets = (...names: string[]) => names.map((bucket) => ({ bucket }));

it('puts together what has one tag, and finds the order of the call again', () => {
  const groups = bySlot(buckets('{1}a', '{2}a', '{1}b', 'a', '{2}b'));
  expect(groups.map(({ at }) => at)).toEqual([[0, 2], [1, 4], [3]]);
  expect(groups[1].members).toEqual(buckets('{2}a', '{2}b'));
  const names = groups.map(({ members }) => members.map(({ bucket }) => bucket));
  expect(inOrder(groups, names)).toEqual(['{1}a', '{2}a', '{1}b', 'a', '{2}b']);
});

it('asks for the most specific first: the least rate, then the least capacity, then as they stand', () => {
  const charge = (bucket: string, rate: number, per: 'second' | 'minute', capacity: number) => {
    const limit = parseLimit({ rate, per, capacity }, 'test');
    return { bucket, place: 'p', limit, price: limit.q, maxWaitUs: 0 };
  };
  const groups = bySlot([
    charge('everybody', 1000, 'second', 1000),
    charge('{user}a', 2000, 'second', 1),
    charge('address', 5, 'second', 10),
    charge('account', 5, 'second', 9),
    charge('again', 5, 'second', 9),
    charge('{user}b', 100, 'minute', 100),
  ]);
  expect(mostSpecificFirst(groups).map(({ members }) => members[0].bucket)).toEqual([
    '{user}a',
    'account',
    'again',
    'address',
    'everybody',
  ]);
});

it('waits for all, and throws the first error of the list', async () => {
  const done: string[] = [];
  const later = async (name: string, error?: Error) => {
    await new Promise(setImmediate);
    done.push(name);
    if (error) throw error;
    return name;
  };
  await expect(allDone([later('a'), later('b')])).resolves.toEqual(['a', 'b']);
  const calls = [Promise.reject(new Error('first')), later('c', new Error('second')), later('d')];
  await expect(allDone(calls)).rejects.toThrow('first');
  expect(done).toEqual(['a', 'b', 'c', 'd']);
});
