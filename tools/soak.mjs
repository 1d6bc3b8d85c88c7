#!/usr/bin/env node
// `npm run soak`: an application that uses everything, for an hour, with a fault of Redis every minute. Ends with 1 when
// something leaks (heap, handles, waiting calls, keys without an end), goes unhandled, or is let through above the envelope.
//   --minutes 60        how long        --every 60   seconds from one fault to the next
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FAULTS } from './chaos/faults.mjs';
import proxies from './chaos/proxy.js';
import { Redises } from './chaos/redis.mjs';
import envelope from './load/envelope.js';

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, every: { type: 'string', default: '60' } },
});
const ROUND_MS = Number(options.every) * 1000;
const ROUNDS = Math.max(4, Math.round((Number(options.minutes) * 60_000) / ROUND_MS));
const FAULT_MS = Math.min(4000, ROUND_MS / 4);
const LIMIT = { rate: 10, capacity: 10 };
/** Heap that later rounds may hold more than early ones. */
const GROWTH_MB = 8;
const MORE_HANDLES = 15;

const redis = await Redises.start();
const proxy = await proxies.ChaosProxy.start(redis.port);
const agent = new Agent({ keepAlive: true });
const config = JSON.stringify({ redis: proxy.url, ...LIMIT });
const app = join(dirname(fileURLToPath(import.meta.url)), 'soak/app.cjs');
const child = fork(app, [config], { execArgv: ['--expose-gc'] });
process.once('exit', () => child.kill('SIGKILL'));
const [{ port }] = await once(child, 'message');

const faults = FAULTS.slice(1).filter(({ steps }) => steps === undefined || redis.hasClock);
const problems = [];
const samples = [];
let admitted = [];
let turn = 0;
const pace = setInterval(() => {
  void call('steady', 'one').then(({ status, ...times }) => {
    if (status === 200) admitted.push(times);
  });
  void call('made', `key-${turn}`);
  if (turn % 4 === 0) void call('slots', `user-${turn % 3}`);
  if (turn % 4 === 2) void call('failures', `user-${turn % 7}`);
  turn++;
}, 50);

for (let round = 0; round < ROUNDS; round++) {
  const fault = faults[round % faults.length];
  admitted = [];
  await delay(ROUND_MS / 4);
  await fault.begin({ redis, proxy });
  await delay(FAULT_MS);
  await fault.end({ redis, proxy });
  await delay((ROUND_MS * 3) / 4 - FAULT_MS);
  await look(round, fault);
}
clearInterval(pace);
judge();
child.disconnect();
agent.destroy();
await proxy.stop();
await redis.stop();
for (const problem of problems) console.error(`PROBLEM: ${problem}`);
console.log(problems.length === 0 ? 'No leak, no violation.' : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

function call(path, key) {
  return new Promise((resolve) => {
    const sentMs = performance.now();
    const done = (status) => resolve({ status, sentMs, receivedMs: performance.now() });
    const headers = { 'x-key': key };
    request({ host: '127.0.0.1', port, path: `/${path}`, headers, agent }, (response) => {
      response.resume();
      response.once('end', () => done(response.statusCode));
      response.once('error', () => done(0));
    })
      .once('error', () => done(0))
      .end();
  });
}

async function look(round, fault) {
  child.send('?');
  const [sample] = await once(child, 'message');
  const { heapMb, rssMb, handles, happened } = sample;
  const keys = await keysNow();
  samples.push({ heapMb, handles: sum(handles), open: happened.calls - happened.done, keys });
  // One process: what it may use alone while Redis is out, beside what Redis gives before and after.
  const spare =
    (fault.isOut ? 1 : 0) + (fault.forgets ? 1 : 0) + (fault.steps === undefined ? 0 : 2);
  const allowed = { rate: LIMIT.rate, capacity: LIMIT.capacity * (1 + spare) };
  const slack = envelope.tightestWindow(admitted, allowed)?.slack ?? 0;
  if (slack < 0)
    problems.push(`round ${round}, ${fault.name}: ${Math.ceil(-slack)} above the envelope`);
  if (admitted.length < (LIMIT.rate * ROUND_MS) / 2000) {
    problems.push(
      `round ${round}, ${fault.name}: only ${admitted.length} of the steady calls passed`,
    );
  }
  if (keys.endless > 0)
    problems.push(`round ${round}: ${keys.endless} keys of limits without an end`);
  for (const error of happened.unhandled) problems.push(`unhandled: ${error}`);
  for (const error of happened.foreign) problems.push(`no error of ours: ${error}`);
  console.log(
    `${String(round + 1).padStart(3)}/${ROUNDS} ${fault.name.padEnd(42)} heap ${heapMb.toFixed(1)} MB, rss ${rssMb.toFixed(0)} MB, ` +
      `handles ${sum(handles)}, open calls ${happened.calls - happened.done}, keys ${keys.limits} and ${keys.queue} of the queue, ` +
      `jobs ${happened.jobs} of ${happened.submitted}`,
  );
}

/** Keys of limits, those among them that never end, and keys of the queue. */
async function keysNow() {
  const counts = { limits: 0, endless: 0, queue: 0 };
  let cursor = '0';
  do {
    const [next, keys] = await redis.call('SCAN', cursor, 'COUNT', '1000');
    cursor = next;
    for (const key of keys) {
      const ofQueue = key.startsWith('bull:') || key.includes('{queue:');
      counts[ofQueue ? 'queue' : 'limits']++;
      if (!ofQueue && (await redis.call('PTTL', key)) === -1) counts.endless++;
    }
  } while (cursor !== '0');
  return counts;
}

/** The last quarter against the second: the first one warms up. */
function judge() {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const grown = (of) => median(late.map(of)) - median(early.map(of));
  const grows = {
    'MB of heap': [grown(({ heapMb }) => heapMb), GROWTH_MB],
    handles: [grown(({ handles }) => handles), MORE_HANDLES],
    'open calls': [grown(({ open }) => open), 50],
    'keys of limits': [grown(({ keys }) => keys.limits), 300],
    'keys of the queue': [grown(({ keys }) => keys.queue), 300],
  };
  for (const [what, [more, most]] of Object.entries(grows)) {
    console.log(`grown by ${more.toFixed(1)} ${what}`);
    if (more > most) problems.push(`grew by ${more.toFixed(1)} ${what}`);
  }
}

function sum(counts) {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

function median(values) {
  return envelope.quantile(values, 0.5);
}
