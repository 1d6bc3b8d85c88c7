import { declaredLimit } from './declared-limit';

const key = () => 'k';

describe('declaredLimit', () => {
  it.each([
    [[], { source: 'table', name: 'default' }],
    [[{ cost: 2 }], { source: 'table', name: 'default', options: { cost: 2 } }],
    [['search'], { source: 'policy', name: 'search', options: {} }],
    [['search', { cost: 5 }], { source: 'policy', name: 'search', options: { cost: 5 } }],
    [[10], { source: 'numbers', name: 'default', options: { rate: 10 } }],
    [[10, 20], { source: 'numbers', options: { rate: 10, capacity: 20 }, tiers: undefined }],
    [[1, 2, 'pro'], { tiers: ['pro'], options: { rate: 1, capacity: 2, tier: 'pro' } }],
    [[1, 2, ['pro', 'gold']], { tiers: ['pro', 'gold'] }],
    [[1, 2, { key, name: 'n' }], { name: 'n', options: { rate: 1, capacity: 2, key } }],
    [[1, undefined, { tier: 'pro' }], { tiers: ['pro'], options: { rate: 1, tier: 'pro' } }],
    [[{ rate: 1, name: 'n' }], { source: 'numbers', name: 'n' }],
  ])('%j', (args, expected) => {
    expect(declaredLimit(args, 'here')).toMatchObject({ place: 'here', ...expected });
  });

  it('leaves the options that it was given as they are', () => {
    const options = Object.freeze({ name: 'n' });
    declaredLimit([1, 2, options], 'here');
    expect(options).toEqual({ name: 'n' });
  });
});
