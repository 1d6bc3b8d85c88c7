// The worker shedder in a process whose event loop is really blocked, under real HTTP load from outside.
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadSheddingOptions } from 'nest-rate-limit';
import { LoadedApp } from '../support/loaded-app';

jest.setTimeout(60_000);

const KINDS = ['sheddable', 'default', 'critical'] as const;
type Kind = (typeof KINDS)[number];
/** At a time, of each kind. */
const CALLERS = 8;
/** That each call blocks the event loop. */
const BURN_MS = 15;
const LOAD_MS = 4000;
const FALL_MS = 2000;

interface Call {
  readonly kind: Kind;
  readonly status: number;
  /** Since the load began. */
  readonly atMs: number;
  readonly tookMs: number;
}

/** Everything that was answered while `CALLERS` of each kind called without a pause; a refused one waits a little. */
async function underLoad(app: LoadedApp): Promise<Call[]> {
  const calls: Call[] = [];
  const startMs = performance.now();
  const caller = async (kind: Kind) => {
    while (performance.now() - startMs < LOAD_MS) {
      const sentMs = performance.now();
      const status = await app.call(`/${kind}?ms=${BURN_MS}`);
      const nowMs = performance.now();
      calls.push({ kind, status, atMs: nowMs - startMs, tookMs: nowMs - sentMs });
      if (status !== 200) await delay(50);
    }
  };
  await Promise.all(KINDS.flatMap((kind) => Array.from({ length: CALLERS }, () => caller(kind))));
  return calls;
}

const of = (calls: readonly Call[], kind: Kind, fromMs = 0, toMs = Infinity) =>
  calls.filter((call) => call.kind === kind && call.atMs >= fromMs && call.atMs < toMs);
const share = (calls: readonly Call[]) =>
  calls.filter(({ status }) => status === 503).length / calls.length;
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

describe('a process with more work than its event loop can do', () => {
  const shedding: LoadSheddingOptions = {
    worker: {
      eventLoopDelayMs: { from: 20, full: 100 },
      riseMs: 1000,
      fallMs: FALL_MS,
      sampleMs: 50,
    },
  };
  let apps: LoadedApp[];
  beforeEach(() => (apps = []));
  afterEach(() => Promise.all(apps.map((app) => app.kill())));
  const start = async (options: LoadSheddingOptions) => {
    const app = await LoadedApp.start({ shedding: options });
    apps.push(app);
    return app;
  };

  it('sheds what is sheddable first, then the rest; critical calls all pass, and faster; all comes back', async () => {
    const bare = await underLoad(await start({ ...shedding, mode: 'shadow' }));
    expect(bare.every(({ status }) => status === 200)).toBe(true);

    const app = await start(shedding);
    const calls = await underLoad(app);
    expect(of(calls, 'critical').every(({ status }) => status === 200)).toBe(true);
    // Gradual: not at once, then all of it.
    expect(of(calls, 'sheddable')[0].status).toBe(200);
    expect(share(of(calls, 'sheddable', 2000))).toBeGreaterThan(0.9);
    // In order: each kind later than the one that matters less.
    const firstShed = (kind: Kind) =>
      of(calls, kind).find(({ status }) => status === 503)?.atMs as number;
    expect(firstShed('sheddable')).toBeLessThan(firstShed('default'));
    expect(share(of(calls, 'sheddable'))).toBeGreaterThan(share(of(calls, 'default')));
    // What it is for.
    const took = (all: readonly Call[]) =>
      median(of(all, 'critical', 2000).map(({ tookMs }) => tookMs));
    const served = (all: readonly Call[]) => of(all, 'critical', 2000).length;
    expect(served(calls)).toBeGreaterThan(1.5 * served(bare));
    expect(took(calls)).toBeLessThan(took(bare) / 1.5);

    // Back, but not all at once.
    const backAfter = async (kind: Kind) => {
      const startMs = performance.now();
      while ((await app.call(`/${kind}?ms=0`)) !== 200) await delay(20);
      return performance.now() - startMs;
    };
    await delay(1.5 * FALL_MS);
    for (let i = 0; i < 5; i++) await app.call('/critical?ms=0');
    expect(await backAfter('default')).toBeLessThan(FALL_MS);
    expect(await backAfter('sheddable')).toBeLessThan(FALL_MS);
    const figures = {
      critical: {
        served: [served(bare), served(calls)],
        tookMs: [took(bare), took(calls)].map(Math.round),
      },
      shed: Object.fromEntries(KINDS.map((kind) => [kind, share(of(calls, kind)).toFixed(2)])),
    };
    process.stdout.write(`load shedding, without and with: ${JSON.stringify(figures)}\n`);
  });
});
