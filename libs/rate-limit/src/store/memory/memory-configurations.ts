// Configurations in this process. Bounded; those that have ended go as others arrive.
import { systemClock, type Clock } from '../../core/clock';
import { StoreUnavailableError } from '../../core/errors';
import { msFromUsCeil, US_PER_MS, usFromMs } from '../../core/duration';
import { parseLimit, type ParsedLimit } from '../../core/limit';
import type { Configuration, ConfigurationStore, ConfiguredLimit } from '../configuration-store';
import type { InForce } from '../in-force';
import { BucketMap } from './bucket-map';

interface Kept {
  readonly configured?: ConfiguredLimit;
  readonly limit?: ParsedLimit;
  /** When the limit ends, in µs. */
  readonly endsUs: number;
  readonly blockedUntilUs: number;
}

const NOTHING: Kept = { endsUs: 0, blockedUntilUs: 0 };

/** How many are looked at for every change: more than one, so that their number shrinks. */
const SWEEP_PER_CHANGE = 4;
const SWEEP_AT_BOUND = 1000;

/** Configurations of one process; answers at once. */
export class MemoryConfigurations implements ConfigurationStore {
  readonly #kept = new BucketMap<Kept>();

  /** @param most a further key is refused: what was set by hand must hold until it ends */
  constructor(
    private readonly clock: Clock = systemClock,
    private readonly most = 1_000_000,
  ) {}

  /** Configurations kept now, those that have ended and were not swept yet included. */
  get size(): number {
    return this.#kept.size;
  }

  configure(name: string, configured: ConfiguredLimit, ttlMs: number): void {
    const limit = parseLimit(configured.limit, 'configuration');
    this.#change(name, { configured, limit, endsUs: this.#nowUs + ttlMs * US_PER_MS });
  }

  clear(name: string): void {
    this.#change(name, { configured: undefined, limit: undefined, endsUs: 0 });
  }

  block(name: string, ms: number): void {
    this.#change(name, { blockedUntilUs: ms === 0 ? 0 : this.#nowUs + ms * US_PER_MS });
  }

  read(names: readonly string[]): Configuration[] {
    const nowUs = this.#nowUs;
    return names.map((name) => {
      const { configured, endsUs, blockedUntilUs } = this.#at(name, nowUs);
      return {
        ...configured,
        ...(configured && endsUs < Infinity && { limitEndsAtMs: msFromUsCeil(endsUs) }),
        ...(blockedUntilUs > 0 && { blockedUntilMs: msFromUsCeil(blockedUntilUs) }),
      };
    });
  }

  /** What holds for a charge at `nowUs`; `undefined`: nothing is configured. */
  inForce(name: string, nowUs: number): InForce | undefined {
    if (!this.#kept.has(name)) return undefined;
    const { limit, blockedUntilUs } = this.#at(name, nowUs);
    return { limit, blockedUs: Math.max(0, blockedUntilUs - nowUs) };
  }

  #at(name: string, nowUs: number): Kept {
    const { configured, limit, endsUs, blockedUntilUs } = this.#kept.get(name) ?? NOTHING;
    const stands = endsUs > nowUs;
    return {
      configured: stands ? configured : undefined,
      limit: stands ? limit : undefined,
      endsUs: stands ? endsUs : 0,
      blockedUntilUs: blockedUntilUs > nowUs ? blockedUntilUs : 0,
    };
  }

  /** @throws StoreUnavailableError when there is no room for one more key */
  #change(name: string, change: Partial<Kept>): void {
    const nowUs = this.#nowUs;
    this.#sweep(SWEEP_PER_CHANGE, nowUs);
    const kept = { ...this.#at(name, nowUs), ...change };
    if (kept.endsUs === 0 && kept.blockedUntilUs === 0) {
      this.#kept.delete(name);
      return;
    }
    if (this.#kept.size >= this.most && !this.#kept.has(name)) {
      this.#sweep(SWEEP_AT_BOUND, nowUs);
      if (this.#kept.size >= this.most) {
        throw new StoreUnavailableError(
          `the memory store keeps ${this.most} configurations and blocks already, its maxBuckets: raise it, give them shorter times, or use redis`,
        );
      }
    }
    this.#kept.set(name, kept);
  }

  #sweep(count: number, nowUs: number): void {
    for (let i = 0; i < count; i++) {
      const next = this.#kept.next();
      if (next === undefined) return;
      const [name, { endsUs, blockedUntilUs }] = next;
      if (endsUs <= nowUs && blockedUntilUs <= nowUs) this.#kept.delete(name);
    }
  }

  get #nowUs(): number {
    return usFromMs(this.clock.nowMs());
  }
}
