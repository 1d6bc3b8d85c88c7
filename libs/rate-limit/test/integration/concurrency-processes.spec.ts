// @ConcurrencyLimit over three processes of a real application; one is killed. Counted by a server that the handlers
// call, which knows nothing of limits: what is open there is in flight.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LoadedApp } from '../support/loaded-app';
import { sharedRedisUrl, uniquePrefix } from '../support/redis-server';

jest.setTimeout(60_000);

const MAX = 20;
const HELD = 8;
const LEASE_MS = 1500;
/** From the end of a lease to the next call at the observer, over two processes and Redis. */
const ROUND_MS = 200;

/** Answers after a while, and writes down how many are waiting. Calls that hold are never answered. */
class Observer {
  readonly history: { readonly atMs: number; readonly count: number }[] = [];
  /** Calls of the victim that it has open. */
  ofVictim = 0;
  #count = 0;
  readonly #server: Server = createServer((request, response) => {
    this.#change(1);
    const isVictim = request.url?.includes('victim') === true;
    if (isVictim) this.ofVictim++;
    let counts = true;
    // Before the answer: once it is out, the slot may be another's.
    const end = () => {
      if (!counts) return;
      counts = false;
      if (isVictim) this.ofVictim--;
      this.#change(-1);
    };
    response.once('close', end);
    if (request.url?.includes('hold') === true) return;
    void delay(100 + ((this.history.length * 37) % 101)).then(() => {
      end();
      response.end();
    });
  });

  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  countAt(ms: number): number | undefined {
    return this.history.findLast(({ atMs }) => atMs <= ms)?.count;
  }

  counts(fromMs: number, toMs: number): number[] {
    return this.history
      .filter(({ atMs }) => atMs > fromMs && atMs < toMs)
      .map(({ count }) => count);
  }

  /** Nothing changed for so long, and so many are there. */
  isStill(ms: number, count: number): boolean {
    const last = this.history.at(-1)?.atMs ?? -Infinity;
    return this.#count === count && performance.now() - last >= ms;
  }

  #change(by: 1 | -1): void {
    this.#count += by;
    this.history.push({ atMs: performance.now(), count: this.#count });
  }
}

it('20 at once over three processes: never more, also when one is killed, and 20 again within the lease', async () => {
  const observer = new Observer();
  const config = {
    redis: sharedRedisUrl(),
    keyPrefix: uniquePrefix(),
    observer: await observer.start(),
    max: MAX,
    leaseMs: LEASE_MS,
  };
  const apps = await Promise.all([1, 2, 3].map(() => LoadedApp.start(config)));
  try {
    const [victim, ...others] = apps;
    const lost = Array.from({ length: HELD }, () => victim.call('/work?as=victim-hold'));
    while (observer.ofVictim < HELD) await delay(5);
    let [goesOn, as, passed, refused, else_] = [true, 'short', 0, 0, 0];
    const caller = async (app: LoadedApp) => {
      while (goesOn) {
        const status = await app.call(`/work?as=${as}`);
        if (status === 200) passed++;
        else if (status === 429) refused++;
        else if (goesOn) else_++;
        if (status !== 200) await delay(20);
      }
    };
    const callers = others.flatMap((app) => Array.from({ length: MAX }, () => caller(app)));
    // Longer than a lease: the victim holds its slots by saying so.
    await delay(2.5 * LEASE_MS);
    // From here on nobody lets go, so that what is free is taken and stays so.
    as = 'hold';
    do await delay(300);
    while (!observer.isStill(300, MAX));
    const killedAtMs = performance.now();
    await victim.kill();
    while (observer.ofVictim > 0) await delay(1);
    const goneAtMs = performance.now();
    await delay(2 * LEASE_MS);
    goesOn = false;
    await Promise.all(others.map((app) => app.kill()));
    await Promise.all(callers);

    const { history } = observer;
    expect(Math.max(...history.map(({ count }) => count))).toBe(MAX);
    expect(Math.max(...observer.counts(0, killedAtMs))).toBe(MAX);
    // The slots of the dead stay taken until their leases end: the last word was at most a third of one ago.
    const stillLeased = observer.counts(goneAtMs, killedAtMs + LEASE_MS / 2);
    expect(observer.countAt(goneAtMs)).toBe(MAX - HELD);
    expect(stillLeased).toEqual([]);
    const backAtMs = history.find(({ atMs, count }) => atMs > goneAtMs && count === MAX)?.atMs;
    expect((backAtMs as number) - killedAtMs).toBeLessThan(LEASE_MS + ROUND_MS);
    expect(await Promise.all(lost)).toEqual(Array.from({ length: HELD }, () => 0));
    expect(passed).toBeGreaterThan(50);
    expect(refused).toBeGreaterThan(50);
    expect(else_).toBe(0);
  } finally {
    await Promise.all(apps.map((app) => app.kill()));
    observer.stop();
  }
});
