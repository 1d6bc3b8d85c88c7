// The port for what was configured by hand for one policy and key: other numbers, or a block.
import type { Limit } from '../core/limit';

/** Numbers that hold instead of a policy's own. Plain data. */
export interface ConfiguredLimit {
  /** Checked; with the algorithm. */
  readonly limit: Limit;
  /** Whoever reads it later knows why. */
  readonly reason?: string;
}

/** What is in force for one policy and key. */
export interface Configuration extends Partial<ConfiguredLimit> {
  /** When the numbers end, in ms of the store's clock; left out, they stay until they are cleared. */
  readonly limitEndsAtMs?: number;
  /** Until then nothing passes, in ms of the store's clock. */
  readonly blockedUntilMs?: number;
}

/**
 * Keeps configurations, each under a name of its own. What every store promises:
 * - a call is atomic; numbers and block change apart from each other;
 * - the store's clock ends both, and reads never show what has ended;
 * - every charge made after a call has answered is decided by it, in all processes.
 */
export interface ConfigurationStore {
  /** Sets the numbers, for `ttlMs` from now; `Infinity`: until they are cleared. */
  configure(name: string, configured: ConfiguredLimit, ttlMs: number): void | Promise<void>;
  /** Ends the numbers now. Nothing configured is ignored. */
  clear(name: string): void | Promise<void>;
  /** Blocks for `ms` from now; a block that lasts longer is cut. 0 unblocks. */
  block(name: string, ms: number): void | Promise<void>;
  /** What is in force; one entry a name, in order. */
  read(names: readonly string[]): Promise<readonly Configuration[]> | readonly Configuration[];
}
