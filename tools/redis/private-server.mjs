// Runs one Redis of our own on a free loopback port. It ends with this process, however this process ends.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

// The shell holds a pipe from us open (fd 3). When we end, even by SIGKILL, the pipe closes and the server is told to
// stop. It is a process group of its own, so that Ctrl-C reaches it only after the app has closed its connections.
const KEEPER = '"$@" & server=$!; { read _; kill $server; } <&3 2>/dev/null & wait $server';
const ATTEMPTS = 5;

/**
 * Starts `commandLine(port, directory)` and resolves to its URL once it answers PING.
 * Rejects with the server's last words when it ends or stays silent for `patienceMs`.
 */
export async function startPrivateServer(commandLine, patienceMs = 10_000) {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const directory = mkdtempSync(join(tmpdir(), 'redis-'));
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    const keeper = spawn('/bin/sh', ['-c', KEEPER, 'sh', ...commandLine(port, directory)], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const lastWords = collect(keeper);
    if (await answers(port, keeper, patienceMs)) {
      release(keeper);
      return `redis://127.0.0.1:${port}`;
    }
    keeper.stdio[3].destroy();
    // Somebody else may have taken the port between our look and the server's.
    if (attempt < ATTEMPTS && /address already in use/i.test(lastWords())) continue;
    throw new Error(lastWords().trim().split('\n').at(-1) || 'it did not answer');
  }
}

/** Whether something at host:port answers a Redis PING; an error reply (NOAUTH) is an answer too. */
export function ping(port, host = '127.0.0.1', timeoutMs = 1000) {
  return new Promise((resolve) => {
    const socket = connect({ port, host, timeout: timeoutMs }, () => socket.write('PING\r\n'));
    const finish = (alive) => {
      socket.destroy();
      resolve(alive);
    };
    socket.once('data', (reply) => finish(/^\+PONG|^-NOAUTH/.test(String(reply))));
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => finish(false));
  });
}

async function answers(port, keeper, patienceMs) {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline && keeper.exitCode === null && keeper.signalCode === null) {
    if (await ping(port)) return keeper.exitCode === null;
    await delay(20);
  }
  return false;
}

function collect(keeper) {
  let text = '';
  for (const stream of [keeper.stdout, keeper.stderr]) {
    stream.on('data', (chunk) => (text = (text + chunk).slice(-2000)));
  }
  keeper.once('error', (error) => (text += error.message));
  return () => text;
}

/** The server must not keep this process alive. */
function release(keeper) {
  keeper.unref();
  for (const stream of keeper.stdio) stream?.unref();
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
