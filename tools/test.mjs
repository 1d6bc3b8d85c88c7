#!/usr/bin/env node
// `npm test`: from a fresh clone to the test results. Installs what is missing, finds a Redis (without one nothing
// is tested, since nothing may be skipped), and then becomes Jest. Arguments go to Jest: npm test -- -t 'a name'
import Module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from './dependencies.mjs';
import { findRedis, NO_REDIS_HELP } from './redis/find-redis.mjs';
import { ping } from './redis/private-server.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');

ensureDependencies(root);
const redisUrl = await findRedis();
if (!redisUrl) fail(NO_REDIS_HELP);
const { protocol, hostname, port } = new URL(redisUrl);
if (protocol === 'redis:' && !(await ping(Number(port || 6379), hostname))) {
  fail(`REDIS_URL=${redisUrl}: nothing there answers PING.`);
}
process.env.REDIS_URL = redisUrl;
process.chdir(root);
process.argv.splice(1, 1, join(root, 'node_modules/jest/bin/jest.js'));
Module.runMain();

function fail(message) {
  console.error(message);
  process.exit(1);
}
