// Starts of jobs as the service behind them sees them: an HTTP server in a process of its own.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** One call. `atMs` is the recorder's clock in epoch ms; the rest is what the caller sent. */
export interface Start {
  readonly atMs: number;
  readonly n: string;
  readonly key: string;
  readonly pid: string;
  readonly attempt: string;
  /** Pick-ups of the job so far, this one included. */
  readonly picks: string;
}

export class StartRecorder {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<StartRecorder> {
    const child = fork(join(__dirname, 'queue-recorder-process.cjs'), { execArgv: [] });
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new StartRecorder(child, `http://127.0.0.1:${port}`);
  }

  async starts(): Promise<Start[]> {
    return (await (await fetch(`${this.url}/starts`)).json()) as Start[];
  }

  async forget(): Promise<void> {
    await fetch(`${this.url}/starts`, { method: 'DELETE' });
  }

  /** All starts, as soon as there are `count`; fails with what there is after `ms`. */
  async until(count: number, ms: number): Promise<Start[]> {
    const endsMs = performance.now() + ms;
    for (;;) {
      const starts = await this.starts();
      if (starts.length >= count) return starts;
      if (performance.now() > endsMs) {
        throw new Error(`${starts.length} of ${count} jobs have started within ${ms} ms`);
      }
      await delay(Math.min(100, Math.max(10, (count - starts.length) * 2)));
    }
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    this.child.disconnect();
    await once(this.child, 'exit');
  }
}
