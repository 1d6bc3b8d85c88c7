// Finds a Redis for the demo and the tests: the one named in REDIS_URL, or a private one that ends with this process.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { aptInstall, brewInstall } from './install-redis.mjs';
import { runningDocker } from './docker.mjs';
import { startPrivateServer } from './private-server.mjs';

const BINARIES = ['redis-server', 'valkey-server'];

/**
 * Resolves to the URL of a Redis, or to undefined when there is none to be had.
 * Says on the way what it uses, what it installs, and why something did not work.
 * REDIS_AUTO_INSTALL=0 forbids installing and downloading.
 */
export async function findRedis(env = process.env) {
  if (env.REDIS_URL) return env.REDIS_URL;
  const mayInstall = env.REDIS_AUTO_INSTALL !== '0';
  const binary =
    onPath(env) ?? (mayInstall && (aptInstall() || brewInstall()) ? onPath(env) : undefined);
  if (binary) return tryToStart(binary, (port, directory) => [binary, ...options(port, directory)]);
  const docker = runningDocker({ mayPull: mayInstall });
  if (docker) return tryToStart('Docker', docker.commandLine, docker.patienceMs);
  return undefined;
}

/** What to do when there is none. */
export const NO_REDIS_HELP = [
  'No Redis found. One of these helps:',
  '  - install redis-server or valkey-server (apt-get install redis-server, brew install redis)',
  '  - start Docker',
  '  - set REDIS_URL, e.g. REDIS_URL=redis://localhost:6379',
  'With REDIS_AUTO_INSTALL=0 nothing is installed or downloaded for you.',
].join('\n');

async function tryToStart(what, commandLine, patienceMs) {
  try {
    const url = await startPrivateServer(commandLine, patienceMs);
    console.log(`Redis: a private one on ${url} (${what}), stopped when this command ends.`);
    return url;
  } catch (error) {
    console.error(`Redis: ${what} did not start: ${error.message}`);
    return undefined;
  }
}

function onPath(env) {
  if (env.REDIS_SERVER_BIN) return env.REDIS_SERVER_BIN;
  // Homebrew's folder may be missing from the PATH of the shell that ran the installation.
  const folders = [...(env.PATH ?? '').split(delimiter).filter(Boolean)];
  return BINARIES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}

function options(port, directory) {
  const network = ['--port', `${port}`, '--bind', '127.0.0.1', '--daemonize', 'no'];
  return [...network, '--dir', directory, '--save', '', '--appendonly', 'no'];
}
