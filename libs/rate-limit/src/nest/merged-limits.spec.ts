import type { DeclaredLevel } from './declared-level';
import { byName } from './declared-level';
import { declaredLimit } from './declared-limit';
import { mergedLimits, type ModuleLimits } from './merged-limits';

const limits = (...names: string[]) =>
  byName(names.map((name) => declaredLimit([{ name, rate: 1 }], 'here')));

function level(names: string[], skips: string[] | 'all' = []): DeclaredLevel {
  return {
    limits: limits(...names),
    slots: new Map(),
    skipsAll: skips === 'all',
    skips: skips === 'all' ? [] : skips,
    place: 'here',
  };
}

const ofModule: ModuleLimits = { always: limits('ip'), undecorated: limits('default') };
const merged = (...levels: DeclaredLevel[]) => {
  const { limits: all, decorated } = mergedLimits(levels, ofModule);
  return [all.map(([{ name }]) => name).join(' '), decorated];
};

describe('mergedLimits', () => {
  it.each([
    ['nothing declared', [], 'ip default', false],
    ['a limit', [level(['a'])], 'ip a', true],
    ['outer and inner add up', [level(['a']), level(['b'])], 'ip a b', true],
    ['a bare skip', [level(['a']), level([], 'all')], '', true],
    ['limited again', [level(['a']), level([], 'all'), level(['b'])], 'ip b', true],
    ['skipped, then nothing', [level([], 'all'), level([])], '', true],
    ['a named skip', [level(['a', 'b']), level([], ['a'])], 'ip b', true],
    ['a named skip of all there is', [level(['a']), level([], ['a'])], 'ip', true],
    ['a skip of the module’s own', [level([], ['default'])], 'ip', false],
    ['a skip of always', [level([], ['ip'])], 'default', false],
    ['skipped by name, then limited', [level([], ['a']), level(['a'])], 'ip a', true],
    ['always replaced by name', [level(['ip'])], 'ip', true],
  ] as const)('%s', (_what, levels, names, decorated) => {
    expect(merged(...levels)).toEqual([names, decorated]);
  });

  it('a replaced name is the inner one', () => {
    const inner = level(['a']);
    const { limits: all } = mergedLimits([level(['a']), inner], ofModule);
    expect(all[1]).toBe(inner.limits.get('a'));
  });
});
