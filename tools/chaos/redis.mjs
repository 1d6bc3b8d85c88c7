// The Redis that is made to suffer: a process of our own that can be frozen, killed, restarted, and told another time.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { freePort, ping } from '../redis/private-server.mjs';

const CLOCK_SOURCE = join(dirname(fileURLToPath(import.meta.url)), 'clock.c');

export class Redises {
  #directory = mkdtempSync(join(tmpdir(), 'chaos-'));
  /** Its clock can be moved: there is a C compiler. */
  hasClock = false;
  #binary;
  #child;
  #admin;

  static async start() {
    const redis = new Redises();
    redis.#binary = ['redis-server', 'valkey-server']
      .flatMap((name) => process.env.PATH.split(delimiter).map((folder) => join(folder, name)))
      .find((path) => existsSync(path));
    if (redis.#binary === undefined)
      throw new Error('no redis-server or valkey-server on the PATH');
    redis.port = await freePort();
    redis.setClock(0);
    const built = spawnSync('cc', ['-shared', '-fPIC', '-o', redis.#clock, CLOCK_SOURCE]);
    redis.hasClock = built.status === 0;
    process.once('exit', () => redis.#child?.kill('SIGKILL'));
    // A signal alone would skip what is done at the exit, and leave the server behind.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.once(signal, () => process.exit(1));
    await redis.launch();
    return redis;
  }

  /** Moves its clock by so many seconds from the machine's. */
  setClock(seconds) {
    // In place: the server has the page mapped.
    const bytes = Buffer.alloc(4);
    bytes.writeInt32LE(seconds);
    writeFileSync(this.#clockFile, bytes, { flag: existsSync(this.#clockFile) ? 'r+' : 'w' });
  }

  async launch() {
    const { port } = this;
    const options = [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--dir',
      this.#directory,
    ];
    const clock = { LD_PRELOAD: this.#clock, CLOCK_FILE: this.#clockFile };
    this.#child = spawn(this.#binary, options, {
      stdio: 'ignore',
      env: { ...process.env, ...(this.hasClock && clock) },
    });
    while (!(await ping(port))) await delay(20);
    this.#admin = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null });
    this.#admin.on('error', () => undefined);
  }

  /** A command of the operator. */
  call(...command) {
    return this.#admin.call(...command);
  }

  freeze() {
    this.#child.kill('SIGSTOP');
  }

  thaw() {
    this.#child.kill('SIGCONT');
  }

  /** Ends it as a crash does; `keepsData`: what it held was on disk. */
  async kill({ keepsData = false } = {}) {
    if (keepsData) await this.call('SAVE');
    this.#admin.disconnect();
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
    if (!keepsData) rmSync(join(this.#directory, 'dump.rdb'), { force: true });
  }

  async stop() {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #clock() {
    return join(this.#directory, 'clock.so');
  }

  get #clockFile() {
    return join(this.#directory, 'clock');
  }
}
