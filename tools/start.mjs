#!/usr/bin/env node
// `npm start`: from a fresh clone to a running demo. Installs what is missing, finds a Redis, builds when the
// sources are newer than the last build, and then becomes the demo: one process, so every signal reaches it.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import Module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './dependencies.mjs';
import { findRedis } from './redis/find-redis.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const main = join(root, 'dist/apps/demo/apps/demo/src/main.js');
const CLOSING_TIME_MS = 1200;

ensureDependencies(root);
const redisUrl = await findRedis();
if (isStale()) build();
if (redisUrl) process.env.REDIS_URL = redisUrl;
else delete process.env.REDIS_URL;
endInTime();
process.argv.splice(1, 1, main);
Module.runMain();

function isStale() {
  if (!existsSync(main)) return true;
  const sources = ['apps/demo', 'libs/rate-limit/src', 'tsconfig.json', 'nest-cli.json'];
  return sources.some((source) => newest(join(root, source)) > statSync(main).mtimeMs);
}

function newest(path) {
  const inside = statSync(path).isDirectory() ? readdirSync(path, { recursive: true }) : [];
  const times = ['', ...inside].map((name) => {
    // A file may go while we look: editors write that way.
    return statSync(join(path, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  });
  return Math.max(...times);
}

/** The library first: once it has been built, the demo loads that build, however old it is. */
function build() {
  console.log('Building the library and the demo, some seconds…');
  const nest = join(root, 'node_modules/@nestjs/cli/bin/nest.js');
  for (const project of ['rate-limit', 'demo']) {
    const { status } = spawnSync(process.execPath, [nest, 'build', project], {
      cwd: root,
      stdio: 'inherit',
    });
    if (status === 0) continue;
    // What a failed build wrote must not pass for a fresh one.
    rmSync(main, { force: true });
    process.exit(status ?? 1);
  }
}

/** The demo closes by itself on a signal; an open connection must not hold it up for long. */
function endInTime() {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => setTimeout(() => process.exit(1), CLOSING_TIME_MS).unref());
  }
  // npm may be killed without passing it on, and a shell between npm and us passes nothing on.
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 250);
  watch.unref();
}
