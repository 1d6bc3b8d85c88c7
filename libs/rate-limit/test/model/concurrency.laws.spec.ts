// The laws of concurrency limits over several processes, whatever is sent when, gets lost and dies: never more at once
// than may be, and no slot is missing for longer than a lease. In virtual time.
import fc from 'fast-check';
import { VirtualFleet } from '../support/virtual-fleet';

const MAX = 3;
const LEASE_MS = 900;

const call = fc.record({
  afterMs: fc.nat(200),
  process: fc.nat(2),
  lastsMs: fc.oneof(fc.nat(300), fc.nat(5000)),
});
const transit = fc.record({
  thereMs: fc.nat(60),
  backMs: fc.nat(60),
  lost: fc.oneof(
    { weight: 12, arbitrary: fc.constant('nothing' as const) },
    { weight: 1, arbitrary: fc.constant('message' as const) },
    { weight: 1, arbitrary: fc.constant('answer' as const) },
  ),
});
const reliable = transit.map((each) => ({ ...each, lost: 'nothing' as const }));
const calls = fc.array(call, { minLength: 10, maxLength: 40, size: 'max' });
const transits = (one: typeof transit) =>
  fc.array(one, { minLength: 20, maxLength: 60, size: 'max' });
const death = fc.record({ process: fc.nat(2), atCall: fc.nat(40) });

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** How many more get a slot now. */
function free(fleet: VirtualFleet, slots: string): number {
  let granted = 0;
  while (fleet.slots.hold({ slots, id: `new${granted}`, max: MAX, leaseMs: 1 }).granted) granted++;
  return granted;
}

async function history(
  fleet: VirtualFleet,
  all: readonly { afterMs: number; process: number; lastsMs: number }[],
  deaths: readonly { process: number; atCall: number }[],
): Promise<void> {
  for (const [i, { afterMs, process, lastsMs }] of all.entries()) {
    await fleet.pass(afterMs);
    for (const each of deaths) if (each.atCall === i) fleet.kill(each.process);
    fleet.call(process, MAX, LEASE_MS, lastsMs);
  }
}

it('never more at once than may be: messages are slow, get lost, and processes die', async () => {
  let crowded = 0;
  await fc.assert(
    fc.asyncProperty(
      calls,
      transits(transit),
      fc.array(death, { maxLength: 2 }),
      async (all, trips, deaths) => {
        const fleet = new VirtualFleet(3, { onStoreFailure: 'closed' }, trips);
        await history(fleet, all, deaths);
        await fleet.pass(2000);
        fleet.end();
        if (fleet.mostRunning === MAX) crowded++;
        expect(fleet.mostRunning).toBeLessThanOrEqual(MAX);
      },
    ),
    { numRuns: 150 },
  );
  // The law was put to the test.
  expect(crowded).toBeGreaterThan(75);
});

it('no slot is missing for longer than a lease after its holder has gone, however it went', async () => {
  await fc.assert(
    fc.asyncProperty(
      calls,
      transits(transit),
      fc.array(death, { maxLength: 2 }),
      async (all, trips, deaths) => {
        const fleet = new VirtualFleet(3, { onStoreFailure: 'closed' }, trips);
        await history(fleet, all, deaths);
        // All that lasts has ended, and the last words have arrived.
        await fleet.pass(5000 + 500 + LEASE_MS);
        fleet.end();
        expect([fleet.running, free(fleet, fleet.lastSlots)]).toEqual([0, MAX]);
      },
    ),
    { numRuns: 80 },
  );
});

it('with a store that answers, whoever ends frees his slot, and nobody is told to stop', async () => {
  await fc.assert(
    fc.asyncProperty(calls, transits(reliable), async (all, trips) => {
      const fleet = new VirtualFleet(3, {}, trips);
      await history(fleet, all, []);
      // No lease could run out in so short a time.
      await fleet.pass(5000 + 300);
      expect([fleet.running, fleet.told, free(fleet, fleet.lastSlots)]).toEqual([0, 0, MAX]);
      expect(fleet.mostRunning).toBeLessThanOrEqual(MAX);
      fleet.end();
    }),
    { numRuns: 80 },
  );
});
