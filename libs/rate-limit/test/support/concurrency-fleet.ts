// Processes that keep calls in flight, seen from the test: what overlapped, by the clock of the machine.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock';
import type { ConcurrencyEvent, ConcurrencyLoad } from './concurrency-process';

/** How many calls were in flight from a moment on. */
export interface InFlight {
  readonly atMs: number;
  readonly count: number;
}

export class ConcurrencyProcess {
  readonly events: ConcurrencyEvent[] = [];
  readonly #child: ChildProcess;
  #killedAtMs: number | undefined;

  constructor(load: ConcurrencyLoad) {
    this.#child = fork(join(__dirname, 'concurrency-process.ts'), [JSON.stringify(load)], {
      execArgv: ['-r', join(__dirname, 'queue-ts-hook.cjs')],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (event) => this.events.push(event as ConcurrencyEvent));
  }

  /** Ends it as a crash would. Returns when, at the latest, nothing of it ran any more. */
  async kill(): Promise<number> {
    if (this.#killedAtMs !== undefined) return this.#killedAtMs;
    const ended = once(this.#child, 'exit');
    // From here on its calls count as ended: what it says after this moment is not to be relied on.
    this.#killedAtMs = systemClock.nowMs();
    this.#child.kill('SIGKILL');
    await ended;
    return this.#killedAtMs;
  }

  /** +1 and -1, each with its moment. */
  get changes(): { atMs: number; by: 1 | -1 }[] {
    const open = new Map<number, number>();
    const changes: { atMs: number; by: 1 | -1 }[] = [];
    for (const { kind, call, atMs } of this.events) {
      if (kind === 'start') {
        open.set(call, atMs);
        changes.push({ atMs, by: 1 });
      } else if (open.delete(call)) {
        changes.push({ atMs, by: -1 });
      }
    }
    const endMs = this.#killedAtMs ?? Infinity;
    for (const startMs of open.values()) changes.push({ atMs: Math.max(startMs, endMs), by: -1 });
    return changes;
  }
}

/** How many calls of all processes were in flight, from each moment on at which it changed. */
export function inFlight(processes: readonly ConcurrencyProcess[]): InFlight[] {
  const changes = processes.flatMap((process) => process.changes);
  // An end and a start at one moment are a hand-over.
  changes.sort((a, b) => a.atMs - b.atMs || a.by - b.by);
  let count = 0;
  return changes.map(({ atMs, by }) => ({ atMs, count: (count += by) }));
}
