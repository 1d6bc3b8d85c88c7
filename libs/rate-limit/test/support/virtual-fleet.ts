// Processes of one application on one store of slots, in virtual time: messages take their time and get lost, and
// processes die. For property tests under Jest's fake timers. Knows the limiter, no clock of the system and no Redis.
import { bucketNamer } from '../../src/core/bucket-key';
import { systemClock } from '../../src/core/clock';
import { ConcurrencyLimiter } from '../../src/limiter/concurrency-limiter';
import { LimiterEmitter } from '../../src/limiter/events';
import { PolicyRegistry, type PolicyRegistryOptions } from '../../src/limiter/policy-registry';
import type { Held } from '../../src/core/leases';
import type { LeaseStore } from '../../src/store/lease-store';
import { MemoryLeases } from '../../src/store/memory/memory-leases';
import { ResilientStore } from '../../src/store/resilient/resilient-store';

/** What happens to one message and its answer. */
export interface Transit {
  readonly thereMs: number;
  readonly backMs: number;
  readonly lost: 'nothing' | 'message' | 'answer';
}

const STEP_MS = 5;
/** Enough for a promise to get through all layers. */
const TURNS = 25;

export class VirtualFleet {
  readonly slots = new MemoryLeases(systemClock);
  readonly #processes: VirtualProcess[];
  /** Calls that run now, in processes that live, and were not told to stop. */
  running = 0;
  mostRunning = 0;
  /** How many were told to stop. */
  told = 0;
  /** The name of the slots that the calls asked for. */
  lastSlots = '';
  #message = 0;

  constructor(
    processes: number,
    options: PolicyRegistryOptions,
    private readonly transits: readonly Transit[],
  ) {
    this.#processes = Array.from(
      { length: processes },
      () => new VirtualProcess((host, does) => this.#wire(host, does), this.#seen(), options),
    );
  }

  #seen(): LeaseStore {
    return {
      hold: (request) => {
        this.lastSlots = request.slots;
        return this.slots.hold(request);
      },
      release: (request) => this.slots.release(request),
    };
  }

  /** A call in a process, which lasts unless it is refused or told to stop. */
  call(process: number, max: number, leaseMs: number, lastsMs: number): void {
    const host = this.#processes[process];
    if (host.isDead) return;
    void host.limiter
      .run('k', { max, leaseMs }, (signal) => {
        let counts = true;
        const stop = () => {
          if (counts && !host.isDead) this.running--;
          counts = false;
        };
        if (!host.isDead) {
          host.stops.add(stop);
          this.running++;
          this.mostRunning = Math.max(this.mostRunning, this.running);
        }
        return new Promise<void>((resolve) => {
          const end = () => {
            stop();
            host.stops.delete(stop);
            resolve();
          };
          signal.addEventListener('abort', () => {
            this.told++;
            end();
          });
          setTimeout(end, lastsMs);
        });
      })
      .catch(() => undefined);
  }

  /** kill -9: what it sent is on its way, and nothing else comes. */
  kill(process: number): void {
    const host = this.#processes[process];
    for (const stop of host.stops) stop();
    host.isDead = true;
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      jest.advanceTimersByTime(STEP_MS);
      for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
    }
  }

  end(): void {
    for (const { limiter } of this.#processes) limiter.close();
  }

  #wire<T>(host: VirtualProcess, does: () => T): Promise<T> {
    const { thereMs, backMs, lost } = this.transits[this.#message++ % this.transits.length];
    return new Promise((resolve) => {
      if (host.isDead || lost === 'message') return;
      setTimeout(() => {
        const answer = does();
        if (lost !== 'answer') setTimeout(() => resolve(answer), backMs);
      }, thereMs);
    });
  }
}

type Wire = <T>(host: VirtualProcess, does: () => T) => Promise<T>;

class VirtualProcess {
  readonly limiter: ConcurrencyLimiter;
  readonly stops = new Set<() => void>();
  isDead = false;

  constructor(wire: Wire, slots: LeaseStore, options: PolicyRegistryOptions) {
    const leases: LeaseStore = {
      hold: async (request) => wire(this, () => slots.hold(request) as Held),
      release: async (request) => wire(this, () => slots.release(request) as void),
    };
    const unused = () => [];
    const store = new ResilientStore(
      { source: 'shared', leases, take: unused, peek: unused, reset: () => undefined },
      { timeoutMs: 250 },
    );
    const registry = new PolicyRegistry(options, bucketNamer('rl'));
    this.limiter = new ConcurrencyLimiter(store.leases, registry, new LimiterEmitter());
  }
}
