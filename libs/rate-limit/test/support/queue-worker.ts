// Worker processes of queue tests, seen from the test.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ScriptLog } from './queue-charges';
import type { WorkerConfig } from './queue-worker-process';

/** What a worker process did so far. */
export interface Report {
  readonly log: ScriptLog;
  /** The longest that the process was late for a timer. */
  readonly stallMs: number;
  readonly closedInMs?: number;
}

/** A process with a worker and a pacer. */
export class QueueWorker {
  readonly errors: unknown[] = [];
  readonly #reports: ((report: Report) => void)[] = [];

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (message: { error?: unknown; log?: unknown }) => {
      if (message.error !== undefined) this.errors.push(message.error);
      if (message.log !== undefined) this.#reports.shift()?.(message as unknown as Report);
    });
  }

  static async start(config: WorkerConfig): Promise<QueueWorker> {
    const child = fork(join(__dirname, 'queue-worker-process.ts'), [JSON.stringify(config)], {
      execArgv: ['-r', join(__dirname, 'queue-ts-hook.cjs')],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const worker = new QueueWorker(child);
    await new Promise<void>((resolve, reject) => {
      child.on('message', (message) => message === 'ready' && resolve());
      child.once('exit', (code) => reject(new Error(`the worker process ended with ${code}`)));
    });
    return worker;
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** What its scripts answered so far. */
  report(): Promise<Report> {
    return this.#ask('log');
  }

  /** Closes the queue and waits for the process to end by itself. */
  async close(): Promise<Report & { exitCode: number | null }> {
    const ended = once(this.child, 'exit');
    const report = await this.#ask('close');
    const [exitCode] = (await ended) as [number | null];
    return { ...report, exitCode };
  }

  /** SIGTERM, and the end of the process. */
  async terminate(): Promise<Report & { exitCode: number | null }> {
    const ended = once(this.child, 'exit');
    const reported = new Promise<Report>((resolve) => this.#reports.push(resolve));
    this.child.kill('SIGTERM');
    const [exitCode] = (await ended) as [number | null];
    return { ...(await reported), exitCode };
  }

  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    if (!this.running) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  #ask(what: 'log' | 'close'): Promise<Report> {
    return new Promise((resolve, reject) => {
      this.#reports.push(resolve);
      this.child.once('exit', () => reject(new Error(`the worker process ended before ${what}`)));
      this.child.send(what);
    });
  }
}
