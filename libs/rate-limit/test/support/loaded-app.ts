// Starts, calls and kills processes of loaded-app-process.ts.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadedAppConfig } from './loaded-app-process';

export class LoadedApp {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(config: LoadedAppConfig): Promise<LoadedApp> {
    const child = fork(join(__dirname, 'loaded-app-process.ts'), [JSON.stringify(config)], {
      execArgv: ['-r', join(__dirname, 'queue-ts-hook.cjs')],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const [url] = (await once(child, 'message')) as [string];
    return new LoadedApp(child, url);
  }

  /** Its status; 0 when there was no answer. */
  async call(path: string): Promise<number> {
    try {
      const answer = await fetch(this.url + path);
      await answer.text();
      return answer.status;
    } catch {
      return 0;
    }
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}
