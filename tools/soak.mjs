#!/usr/bin/env node
// `npm run soak`: an application that uses everything, for an hour, with a fault of Redis every minute. Ends with 1 when
// something leaks (heap, handles, connections, waiting calls, keys), goes unhandled, or is let through above the envelope.
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
import { countKeys } from './soak/keys.mjs';
import judge from './soak/judge.js';

const { values: options } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, every: { type: 'string', default: '60' } },
});
const [minutes, seconds] = [number('minutes', 0.5), number('every', 10)];
const ROUND_MS = seconds * 1000;
const ROUNDS = Math.max(4, Math.round((minutes * 60_000) / ROUND_MS));
const FAULT_MS = Math.min(4000, ROUND_MS / 4);
/** Longer than any call, lease, job, bucket and result of a job lasts. */
const IDLE_MS = 40_000;
/** Each is asked for more than it gives. */
const law = {
  steady: { rate: 10, capacity: 10 },
  jobs: { rate: 2, capacity: 4 },
  slots: 3,
  seconds,
};

const redis = await Redises.start();
const proxy = await proxies.ChaosProxy.start(redis.port);
// Bounded, or the sockets that a burst needed look like a leak until they are given up.
const agent = new Agent({ keepAlive: true, maxFreeSockets: 16 });
const config = JSON.stringify({ redis: proxy.url, law });
const app = join(dirname(fileURLToPath(import.meta.url)), 'soak/app.cjs');
const child = fork(app, [config], { execArgv: ['--expose-gc'] });
process.once('exit', () => child.kill('SIGKILL'));
child.once('exit', (code, signal) => {
  console.error(`PROBLEM: the application ended by itself (${signal ?? code})`);
  process.exit(1);
});
const [{ port }] = await once(child, 'message');

const faults = FAULTS.slice(1).filter(({ steps }) => steps === undefined || redis.hasClock);
const problems = [];
const samples = [];
let admitted = [];
const before = (await look()).sample;
child.send('begin');
const pace = startCalls();
for (let round = 0; round < ROUNDS; round++) {
  const fault = faults[round % faults.length];
  admitted = [];
  await delay(ROUND_MS / 4);
  await fault.begin({ redis, proxy });
  await delay(FAULT_MS);
  await fault.end({ redis, proxy });
  await delay((ROUND_MS * 3) / 4 - FAULT_MS);
  judgeRound(round, fault, await look());
}
clearInterval(pace);
child.send('end');
agent.destroy();
await delay(IDLE_MS);
const { sample: after } = await look();
problems.push(...judge.leftovers(before, after));
for (const [what, [more, most]] of Object.entries(judge.growth(samples))) {
  console.log(`grown by ${more.toFixed(1)} ${what}`);
  if (more > most) problems.push(`grew by ${more.toFixed(1)} ${what}`);
}
console.log(`before the first call: ${told(before)}`);
console.log(`after the last:        ${told(after)}`);
child.removeAllListeners('exit');
child.disconnect();
await proxy.stop();
await redis.stop();
for (const problem of problems) console.error(`PROBLEM: ${problem}`);
console.log(problems.length === 0 ? 'No leak, no violation.' : `${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);

function number(name, least) {
  const value = Number(options[name]);
  if (value >= least && Number.isFinite(value)) return value;
  console.error(`--${name} ${options[name]}: give a number from ${least} on`);
  process.exit(2);
}

function startCalls() {
  let turn = 0;
  return setInterval(() => {
    void call('steady', 'one').then(({ status, ...times }) => {
      if (status === 200) admitted.push(times);
    });
    void call('made', `key-${turn}`);
    if (turn % 4 === 0) void call('slots', `user-${turn % 3}`);
    if (turn % 4 === 2) void call('failures', `user-${turn % 7}`);
    turn++;
  }, 50);
}

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

async function look() {
  const answer = once(child, 'message');
  child.send('?');
  const [{ happened, ...process }] = await answer;
  const open = happened.calls - happened.done;
  const { inFlight } = happened;
  const keys = await countKeys(redis);
  const sample = { ...process, connections: proxy.connections, open, inFlight, keys };
  return { sample, happened };
}

function judgeRound(round, fault, { sample, happened }) {
  samples.push(sample);
  const starts = happened.starts.map((ms) => ({ sentMs: ms, receivedMs: ms }));
  const seen = { ...happened, admitted, starts, endless: sample.keys.endless };
  const found = judge.roundProblems(fault, seen, law);
  problems.push(...found.map((problem) => `round ${round + 1}, ${fault.name}: ${problem}`));
  const { jobs, submitted, mostInFlight, outs, lines } = happened;
  console.log(
    `${String(round + 1).padStart(3)}/${ROUNDS} ${fault.name.padEnd(42)} ${told(sample)}, ` +
      `jobs ${jobs} of ${submitted}, at most ${mostInFlight} at a time, ${outs} times out, ${lines} lines`,
  );
}

function told({ heapMb, rssMb, handles, connections, open, keys }) {
  return (
    `heap ${heapMb.toFixed(1)} MB, rss ${rssMb.toFixed(0)} MB, handles ${handles}, connections ${connections}, ` +
    `open calls ${open}, keys ${keys.limits} (${keys.stepped} of a stepped clock) and ${keys.queue} of the queue`
  );
}
