// A command of the repository as a child process: its output, its address, its end.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export const ROOT = join(__dirname, '../..');
const POLL_MS = 20;
const ADDRESS = /http:\/\/(?:localhost|127\.0\.0\.1):\d+/;

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly afterMs: number;
}

/** Runs a command; stop it in `afterEach` in any case. */
export class RunningCommand {
  #output = '';
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown[]>;

  /** `env` replaces variables of this process; `undefined` removes one. */
  constructor(command: string, args: readonly string[], env: Record<string, string | undefined>) {
    this.#child = spawn(command, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that `stop` finds what the command started, too.
      detached: true,
    });
    this.#exit = once(this.#child, 'exit');
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()));
    }
  }

  /** Everything it has said. */
  get output(): string {
    return this.#output;
  }

  /** The address that it prints, as soon as it does. @throws when it ends before that */
  async address(): Promise<string> {
    for (;;) {
      const address = ADDRESS.exec(this.#output)?.[0];
      if (address !== undefined) return address;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`it ended without an address; it said: ${this.#output}`);
      }
      await delay(POLL_MS);
    }
  }

  /** Sends `signal` to the command alone and waits for its end. */
  async end(signal: NodeJS.Signals): Promise<Ended> {
    const start = performance.now();
    this.#child.kill(signal);
    await this.#exit;
    const { exitCode, signalCode } = this.#child;
    return { code: exitCode, signal: signalCode, afterMs: performance.now() - start };
  }

  /** Waits until it ends by itself. */
  async done(): Promise<Ended> {
    const start = performance.now();
    await this.#exit;
    const { exitCode, signalCode } = this.#child;
    return { code: exitCode, signal: signalCode, afterMs: performance.now() - start };
  }

  /** For `afterEach`: nothing is left, whatever the test did. */
  async stop(): Promise<void> {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // All of the group had ended.
    }
    await this.#exit;
  }
}
