#!/usr/bin/env node
// `npm run load`: calls two instances of the demo on one private Redis at set rates with one key, never waiting for an
// answer before the next call is due (open loop), and checks what was let through. Ends with 1 on a violation.
//   --seconds 10   length of a run        --adapter fastify   instead of Express
//   --tier pro     pro (100/s, burst 200), enterprise (1000/s, 2000) or free (10/s, 20)
// Every call alternates between the instances. The laws and why they allow one token: load/envelope.js.
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import envelope from './load/envelope.js';
import { startInstance } from './load/instance.mjs';
import { findRedis, NO_REDIS_HELP } from './redis/find-redis.mjs';

const { leastDueRefusal, quantile, tightestSince, tightestWindow } = envelope;
const TIERS = {
  free: { rate: 10, capacity: 20, account: 'hobby' },
  pro: { rate: 100, capacity: 200, account: 'startup' },
  enterprise: { rate: 1000, capacity: 2000, account: 'corp' },
};
/** [calls offered as a multiple of the rate, the bucket is full at the start] */
const RUNS = [
  [0.9, false],
  [1, false],
  [1.1, false],
  [2, false],
  [2, true],
];
/** Share refused may differ from the expected one by the jitter of sending and answering. */
const SHARE_TOLERANCE = 0.02;

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    tier: { type: 'string', default: 'pro' },
    adapter: { type: 'string', default: 'express' },
  },
});
const limit = TIERS[options.tier];
const seconds = Number(options.seconds);
if (!limit || !(seconds > 0)) {
  console.error(`--tier ${Object.keys(TIERS).join(' | ')}, --seconds above 0`);
  process.exit(1);
}
const key = { 'x-api-key': `${options.tier}-key` };

const redisUrl = await findRedis({ ...process.env, REDIS_URL: '' });
if (!redisUrl) {
  console.error(NO_REDIS_HELP);
  process.exit(1);
}
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const main = join(root, 'dist/apps/demo/apps/demo/src/main.js');
const env = { REDIS_URL: redisUrl, KEY_PREFIX: `load-${randomUUID()}`, ADAPTER: options.adapter };
const instances = [await startInstance(main, env), await startInstance(main, env)];

const rows = [];
const violations = [];
try {
  for (const instance of instances) await warmUp(instance);
  for (const [factor, full] of RUNS) {
    const run = await measure(factor, full);
    rows.push(judged(run, factor, full));
  }
} finally {
  await Promise.all(instances.map((instance) => instance.stop()));
}
console.log(
  `\n${options.tier}: ${limit.rate}/s, burst ${limit.capacity}; two instances (${options.adapter}), ${seconds} s a run\n`,
);
console.table(rows);
for (const violation of violations) console.error(`VIOLATION: ${violation}`);
if (violations.length === 0) console.log('No violation.');
process.exit(violations.length === 0 ? 0 : 1);

async function warmUp(instance) {
  for (let i = 0; i < 300; i++)
    await instance.call('/weather/oslo', { headers: { 'x-api-key': 'enterprise-key' } });
}

/** A known level at a known moment: full after a reset, or less than one token at a refusal. */
async function prepare(full) {
  const authorization = `Bearer ${process.env.ADMIN_TOKEN || 'demo-admin'}`;
  const reset = await instances[0].call(`/admin/callers/${limit.account}`, {
    method: 'DELETE',
    headers: { authorization },
  });
  if (reset.status !== 200) throw new Error(`the reset answered ${reset.status}`);
  if (full) return { tokens: limit.capacity };
  for (const days of [Math.min(100, limit.capacity), 1]) {
    for (;;) {
      const drained = await instances[0].call(`/forecast/oslo?days=${days}`, { headers: key });
      if (drained.status === 429 && days === 1) return { tokens: 0, ...drained };
      if (drained.status === 429) break;
      if (drained.status !== 200) throw new Error(`draining answered ${drained.status}`);
    }
  }
}

async function measure(factor, full) {
  const start = await prepare(full);
  const calls = [];
  const offered = Math.round(limit.rate * factor * seconds);
  const everyMs = 1000 / (limit.rate * factor);
  const startMs = performance.now() + everyMs;
  for (let next = 0; next < offered;) {
    const nowMs = performance.now();
    while (next < offered && startMs + next * everyMs <= nowMs) {
      const dueMs = startMs + next * everyMs;
      const call = instances[next % 2].call('/weather/oslo', { headers: key });
      calls.push(call.then((answer) => ({ ...answer, dueMs })));
      next++;
    }
    await delay(1);
  }
  return { start, answers: await Promise.all(calls) };
}

function judged({ start, answers }, factor, full) {
  const name = `${factor} × the rate, ${full ? 'full' : 'empty'} at the start`;
  const admitted = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 429);
  if (admitted.length + refused.length !== answers.length) {
    violations.push(`${name}: other answers than 200 and 429`);
  }
  const firstMs = Math.min(...answers.map(({ sentMs }) => sentMs));
  const lastMs = Math.max(...answers.map(({ sentMs }) => sentMs));

  const window = tightestWindow(admitted, limit);
  if (window?.slack < 0) {
    violations.push(`${name}: ${window.count} admitted within ${window.toMs - window.fromMs} ms`);
  }
  // The same law with what is known of the start: an empty bucket has less than one token to add.
  const sinceEmpty = full
    ? undefined
    : tightestSince(admitted, { rate: limit.rate, capacity: 1 }, start.sentMs);
  if (sinceEmpty?.slack < 0) {
    violations.push(
      `${name}: ${sinceEmpty.count} admitted within ${sinceEmpty.toMs - sinceEmpty.fromMs} ms of empty`,
    );
  }
  // At the rate and above, a bucket does not run full again.
  const sinceMs = full
    ? Math.min(...answers.map(({ receivedMs }) => receivedMs))
    : start.receivedMs;
  const due = leastDueRefusal(refused, admitted, limit, { tokens: start.tokens, sinceMs });
  if (due?.slack < 0) violations.push(`${name}: a call was refused with a token left`);

  const earned =
    start.tokens + (limit.rate * (lastMs - (full ? firstMs : start.receivedMs))) / 1000;
  const expected = Math.max(0, 1 - earned / answers.length);
  const share = refused.length / answers.length;
  if (Math.abs(share - expected) > SHARE_TOLERANCE) {
    violations.push(`${name}: ${percent(share)} refused, expected ${percent(expected)}`);
  }
  const latencies = answers.map(({ receivedMs, dueMs }) => receivedMs - dueMs);
  const lags = answers.map(({ sentMs, dueMs }) => sentMs - dueMs);
  return {
    offered: `${factor} ×${full ? ', full' : ''}`,
    calls: answers.length,
    admitted: admitted.length,
    refused: percent(share),
    expected: percent(expected),
    'slack (tokens)': round(Math.min(window?.slack ?? Infinity, sinceEmpty?.slack ?? Infinity)),
    'p50 ms': round(quantile(latencies, 0.5)),
    'p99 ms': round(quantile(latencies, 0.99)),
    'sent late p99 ms': round(quantile(lags, 0.99)),
  };
}

function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}

function round(number) {
  return Math.round(number * 10) / 10;
}
