import { Leases } from './leases';

const MAX = 2;
const LEASE = 1000;

describe('Leases', () => {
  let leases: Leases;
  beforeEach(() => {
    leases = new Leases();
  });
  const hold = (id: string, nowUs: number, { max = MAX, leaseUs = LEASE } = {}) =>
    leases.hold(id, max, nowUs, leaseUs);

  it('gives slots up to the most, and says how many are held', () => {
    expect([hold('a', 0), hold('b', 1), hold('c', 2)]).toEqual([
      { granted: true, inFlight: 1 },
      { granted: true, inFlight: 2 },
      { granted: false, inFlight: 2 },
    ]);
  });

  it('frees a released slot', () => {
    hold('a', 0);
    hold('b', 0);
    leases.release('a');
    expect(hold('c', 0)).toEqual({ granted: true, inFlight: 2 });
  });

  it('ends a lease at its last microsecond, not before', () => {
    hold('a', 0);
    hold('b', 0);
    expect(hold('c', LEASE - 1).granted).toBe(false);
    expect(hold('c', LEASE)).toEqual({ granted: true, inFlight: 1 });
  });

  it('keeps a slot that is asked for again, counted once and from then on', () => {
    hold('a', 0);
    hold('b', 0);
    expect(hold('a', LEASE - 1)).toEqual({ granted: true, inFlight: 2 });
    expect(hold('c', LEASE)).toEqual({ granted: true, inFlight: 2 });
    expect(hold('d', 2 * LEASE - 2)).toEqual({ granted: false, inFlight: 2 });
    expect(hold('d', 2 * LEASE - 1)).toEqual({ granted: true, inFlight: 2 });
  });

  it('gives the holder of an ended lease a slot again only if one is free', () => {
    hold('a', 0);
    expect(hold('b', LEASE)).toEqual({ granted: true, inFlight: 1 });
    expect(hold('c', LEASE)).toEqual({ granted: true, inFlight: 2 });
    expect(hold('a', LEASE)).toEqual({ granted: false, inFlight: 2 });
  });

  it("frees nobody else's slot on a late release", () => {
    hold('a', 0, { max: 1 });
    hold('b', LEASE, { max: 1 });
    leases.release('a');
    expect(hold('c', LEASE, { max: 1 })).toEqual({ granted: false, inFlight: 1 });
  });

  it('takes back nothing when the most is lowered, and gives nothing either', () => {
    hold('a', 0);
    hold('b', 0);
    expect(hold('a', 1, { max: 1 })).toEqual({ granted: true, inFlight: 2 });
    expect(hold('c', 1, { max: 1 })).toEqual({ granted: false, inFlight: 2 });
  });

  it('never ends a lease without an end', () => {
    hold('a', 0, { max: 1, leaseUs: Infinity });
    expect(hold('b', Number.MAX_SAFE_INTEGER, { max: 1 }).granted).toBe(false);
    expect(leases.has('a')).toBe(true);
    leases.release('a');
    expect([leases.has('a'), leases.isEmpty]).toEqual([false, true]);
  });
});
