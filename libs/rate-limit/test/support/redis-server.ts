// Redis servers for tests: private ones that a test may stop, freeze and kill, and the shared one of `npm test`.
// Knows processes and ports; knows nothing of the library.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
// Not the globals: a test's fake timers must not stop the harness.
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 10;
const START_POLLS = 1000;

/**
 * A Redis of the test's own on a free loopback port, without persistence.
 * Stop it in `afterAll`; should the test process die first, the server dies with it.
 */
export class RedisServer {
  private child: ChildProcess | undefined;
  private readonly directory = mkdtempSync(join(tmpdir(), 'redis-test-'));

  private constructor(
    readonly port: number,
    private readonly args: readonly string[],
    private readonly isSentinel = false,
    private readonly binary = findBinary(),
  ) {}

  /** Starts `REDIS_SERVER_BIN`, or the first of redis-server and valkey-server on the PATH, with extra `args`. */
  static async start(...args: string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), args);
    await server.launch();
    return server;
  }

  /** Starts a server of another kind than the first that is found. */
  static async startBinary(binary: string): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), [], false, binary);
    await server.launch();
    return server;
  }

  /** Starts a Sentinel with these lines of configuration. */
  static async startSentinel(...lines: string[]): Promise<RedisServer> {
    const server = new RedisServer(await freePort(), ['--sentinel'], true);
    // It writes into it what it learns.
    writeFileSync(server.configFile, `${lines.join('\n')}\n`);
    await server.launch();
    return server;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The process id while it runs. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** Ends it for good, in any state. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Ends it as a crash would. Everything it held is lost; `restart` brings an empty one back. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Freezes it: connections stay open, nothing is answered. */
  pause(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  /** Ends it if it runs, and starts one on the same port: empty, unless it was told to save. */
  async restart(...more: string[]): Promise<void> {
    await this.end('SIGTERM');
    await this.launch(more);
  }

  private get configFile(): string {
    return join(this.directory, 'sentinel.conf');
  }

  private async launch(more: readonly string[] = []): Promise<void> {
    const logFile = join(this.directory, 'log');
    const network = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--daemonize', 'no'];
    const storage = ['--dir', this.directory, '--save', '', '--appendonly', 'no'];
    const log = openSync(logFile, 'w');
    const config = this.isSentinel ? [this.configFile] : [];
    const child = spawn(this.binary, [...config, ...network, ...storage, ...this.args, ...more], {
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child.unref();
    if (child.pid === undefined) throw ((await once(child, 'error')) as [Error])[0];
    this.child = child;
    tieToThisProcess(child, this.directory);
    for (let poll = 0; poll < START_POLLS && child.exitCode === null; poll += 1) {
      if ((await ping(this.port)) && child.exitCode === null) return;
      await delay(POLL_MS);
    }
    const lastWords = readFileSync(logFile, 'utf8').slice(-500);
    await this.stop();
    throw new Error(`redis-server on port ${this.port} did not start: ${lastWords}`);
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    // A frozen process only hears SIGTERM once it runs again.
    child.kill('SIGCONT');
    await ended;
  }
}

/** The Redis that `npm test` started, or was given, for tests that need no server of their own. */
export function sharedRedisUrl(): string {
  const url = process.env.REDIS_URL;
  if (url) return url;
  throw new Error(
    'REDIS_URL is not set: this test needs a real Redis. Run `npm test`, which finds or starts one.',
  );
}

/** A key prefix that no other test and no other run has, so that nobody needs FLUSHDB. */
export function uniquePrefix(): string {
  return `test-${randomUUID()}:`;
}

/** A loopback port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

/** Where a program is, by the PATH. */
export function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

function findBinary(): string {
  const found = process.env.REDIS_SERVER_BIN || onPath('redis-server') || onPath('valkey-server');
  if (found) return found;
  throw new Error(
    'No redis-server or valkey-server on the PATH: this test starts its own. Install one, or name it in REDIS_SERVER_BIN.',
  );
}

/**
 * A shell waits on a pipe that we hold open; when we are gone, however that came, the pipe closes and it kills
 * the server. An exit listener would not do: SIGKILL calls none.
 */
function tieToThisProcess(server: ChildProcess, directory: string): void {
  const script = 'read _; kill -9 "$1"; rm -rf "$2"';
  const guard = spawn('/bin/sh', ['-c', script, 'sh', `${server.pid}`, directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  (guard.stdin as unknown as { unref(): void }).unref();
  server.once('exit', () => guard.kill('SIGKILL'));
}

function ping(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write('PING\r\n'));
    const finish = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    socket.once('data', (reply) => finish(reply.toString().startsWith('+PONG')));
    socket.once('error', () => finish(false));
    socket.setTimeout(1000, () => finish(false));
  });
}
