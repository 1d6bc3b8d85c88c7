// Installs a Redis server with the machine's own package manager, saying so first. Each returns whether it did.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

/** Debian and its like, as root. The package's own service is not started. */
export function aptInstall() {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync('/etc/debian_version') || !runs('apt-get', '--version')) return false;
  console.log('Redis: none on the PATH, installing one: apt-get install redis-server');
  return withoutServiceStart(
    () => apt('install', 'redis-server') || (apt('update') && apt('install', 'redis-server', true)),
  );
}

/** macOS and Linux with Homebrew. Homebrew starts no service by itself. */
export function brewInstall() {
  if (!runs('brew', '--version')) return false;
  console.log('Redis: none on the PATH, installing one: brew install redis');
  return spawnSync('brew', ['install', 'redis'], { stdio: 'inherit' }).status === 0;
}

/** `update` comes second: a fresh image has no package list, an old list may name packages that are gone. */
function apt(verb, packageName, loud = verb === 'update') {
  const options = ['-qq', '-o', 'DPkg::Lock::Timeout=120'];
  const args = packageName
    ? [...options, 'install', '-y', '--no-install-recommends', packageName]
    : [...options, verb];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stdout, stderr } = spawnSync('apt-get', args, { env, encoding: 'utf8' });
  if (status !== 0 && loud) {
    console.error(`Redis: apt-get ${verb} failed:\n${`${stdout}${stderr}`.trim().slice(-1000)}`);
  }
  return status === 0;
}

/** Debian asks this file whether a package may start its service; 101 is "no". One that is there is left alone. */
function withoutServiceStart(install) {
  const policy = '/usr/sbin/policy-rc.d';
  try {
    writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755, flag: 'wx' });
  } catch {
    return install();
  }
  try {
    return install();
  } finally {
    rmSync(policy, { force: true });
  }
}

function runs(command, ...args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
