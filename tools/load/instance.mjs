// One instance of the demo as a process of its own, and calls to it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';

const ADDRESS = /http:\/\/localhost:(\d+)/;

/** Starts the built demo on a free port; resolves when it listens. */
export async function startInstance(main, env) {
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  let output = '';
  for await (const chunk of child.stdout) {
    output += chunk;
    if (ADDRESS.test(output)) break;
  }
  const port = Number(ADDRESS.exec(output)?.[1]);
  if (!port) throw new Error(`an instance did not start: ${output}`);
  return new Instance(child, port);
}

class Instance {
  #agent = new Agent({ keepAlive: true });

  constructor(child, port) {
    this.child = child;
    this.port = port;
  }

  /** Resolves to the status, when the call left and when its answer was there (monotonic ms). */
  call(path, { method = 'GET', headers = {} } = {}) {
    return new Promise((resolve, reject) => {
      const sentMs = performance.now();
      const { port } = this;
      request(
        { host: '127.0.0.1', port, path, method, headers, agent: this.#agent },
        (response) => {
          response.resume();
          response.once('end', () =>
            resolve({ status: response.statusCode, sentMs, receivedMs: performance.now() }),
          );
          response.once('error', reject);
        },
      )
        .once('error', reject)
        .end();
    });
  }

  async stop() {
    this.#agent.destroy();
    this.child.kill('SIGTERM');
    if (this.child.exitCode === null && this.child.signalCode === null) {
      await once(this.child, 'exit');
    }
  }
}
