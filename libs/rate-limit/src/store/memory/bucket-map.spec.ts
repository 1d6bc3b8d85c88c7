import { BucketMap } from './bucket-map';

function walked<T>(map: BucketMap<T>): string[] {
  const names: string[] = [];
  for (let next = map.next(); next !== undefined; next = map.next()) names.push(next[0]);
  return names.sort();
}

describe('BucketMap', () => {
  it('is a map, whatever the names', () => {
    const map = new BucketMap<number>();
    const names = ['', 'a', '__proto__', '\0', 'é', 'e\u0301', '\ud800', 'x'.repeat(10_000)];
    names.forEach((name, i) => map.set(name, i));
    names.forEach((name, i) => expect(map.get(name)).toBe(i));
    expect(map.size).toBe(names.length);
    map.set('a', 9);
    expect([map.get('a'), map.size]).toEqual([9, names.length]);
    expect([map.delete('a'), map.delete('a'), map.has('a'), map.size]).toEqual([
      true,
      false,
      false,
      names.length - 1,
    ]);
  });

  it('walks over everything, round after round, also over what is added and deleted meanwhile', () => {
    const map = new BucketMap<number>();
    for (let i = 0; i < 1000; i++) map.set(`${i}`, i);
    expect(walked(map)).toHaveLength(1000);
    for (let next = map.next(); next !== undefined; next = map.next()) {
      map.delete(next[0]);
      if (next[1] < 1000) map.set(`again ${next[1]}`, 1000);
    }
    while (map.size > 0) for (const name of walked(map)) map.delete(name);
    expect(map.next()).toBeUndefined();
  });
});
