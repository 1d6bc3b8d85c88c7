#!/usr/bin/env node
// `npm run chaos`: two guarded instances on one Redis behind a proxy, called at a steady pace, while one fault after
// another is done to Redis and to the way to it. Prints what callers saw, as the table of docs/operations.md, and ends
// with 1 when something was let through that the failure policy does not allow, came too late, or went unhandled.
//   --only text   faults whose name has this in it        --seconds 3   how long each lasts
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import proxies from './chaos/proxy.js';
import { FAULTS } from './chaos/faults.mjs';
import { Redises } from './chaos/redis.mjs';
import envelope from './load/envelope.js';

const { values: options } = parseArgs({
  options: { only: { type: 'string', default: '' }, seconds: { type: 'string', default: '3' } },
});
const FAULT_MS = Number(options.seconds) * 1000;
const BEFORE_MS = 1000;
const AFTER_MS = 2500;
const DEADLINE_MS = 250;
const MARGIN_MS = 20;
/** After so long every outage is known to be one. */
const KNOWN_AFTER_MS = 1000;
/** A bucket is asked for twice its rate, so that all of it is used. */
const LIMIT = { rate: 20, capacity: 20 };
const ROUTES = ['bare', 'local', 'open', 'closed'];
const PAUSE_MS = 25;
const INSTANCES = 2;

const root = dirname(fileURLToPath(import.meta.url));
const agent = new Agent({ keepAlive: true });
const redis = await Redises.start();
const proxy = await proxies.ChaosProxy.start(redis.port);
const instances = await Promise.all(Array.from({ length: INSTANCES }, startInstance));
const problems = [];
const rows = [];
try {
  await run(FAULTS[0], 500); // Everything is compiled and connected.
  for (const fault of FAULTS) {
    if (!fault.name.includes(options.only)) continue;
    if (fault.steps !== undefined && !redis.hasClock) {
      console.log(`| ${fault.name} | not run: no C compiler |`);
      continue;
    }
    rows.push(...judged(fault, await run(fault, FAULT_MS)));
  }
} finally {
  for (const { child } of instances) child.disconnect();
  agent.destroy();
  await proxy.stop();
  await redis.stop();
}
print();
for (const problem of problems) console.error(`PROBLEM: ${problem}`);
process.exit(problems.length === 0 ? 0 : 1);

async function startInstance() {
  const config = { redis: proxy.url, ...LIMIT, storeTimeoutMs: DEADLINE_MS };
  const child = fork(join(root, 'chaos/app.cjs'), [JSON.stringify(config)]);
  process.once('exit', () => child.kill('SIGKILL'));
  const [{ port }] = await once(child, 'message');
  return { child, port };
}

/** What an instance noted so far. */
async function noted({ child }) {
  const answer = once(child, 'message');
  child.send('?');
  const [{ happened }] = await answer;
  return happened;
}

/** Calls every route at its pace before, during and after a fault. */
async function run(fault, faultMs) {
  const world = { redis, proxy };
  const key = `${fault.name} ${process.hrtime.bigint()}`.replace(/[^a-z0-9]/gi, '-');
  const before = await Promise.all(instances.map(noted));
  const calls = [];
  let turn = 0;
  const pace = setInterval(() => {
    // In turn the first: calls of one tick wait for each other.
    const first = turn % ROUTES.length;
    const routes = [...ROUTES.slice(first), ...ROUTES.slice(0, first)];
    const { port } = instances[Math.floor(turn / ROUTES.length) % INSTANCES];
    for (const route of routes) calls.push(call(route, port, key));
    turn++;
  }, PAUSE_MS);
  await delay(BEFORE_MS);
  const beganMs = performance.now();
  await fault.begin(world);
  await delay(faultMs);
  const endedMs = performance.now();
  const endedAt = Date.now();
  await fault.end(world);
  await delay(AFTER_MS);
  clearInterval(pace);
  const after = await Promise.all(instances.map(noted));
  return { beganMs, endedMs, endedAt, calls: await Promise.all(calls), before, after };
}

function call(route, port, key) {
  return new Promise((resolve) => {
    const sentMs = performance.now();
    const done = (status) => resolve({ route, status, sentMs, receivedMs: performance.now() });
    request(
      { host: '127.0.0.1', port, path: `/${route}`, headers: { 'x-key': key }, agent },
      (response) => {
        response.resume();
        response.once('end', () => done(response.statusCode));
        response.once('error', (error) => done(error.code));
      },
    )
      .once('error', (error) => done(error.code))
      .end();
  });
}

function judged(fault, { beganMs, endedMs, endedAt, calls, before, after }) {
  const during = calls.filter(({ sentMs }) => sentMs >= beganMs && sentMs < endedMs);
  // By then an outage is known: the breaker is open.
  const known = during.filter(({ sentMs }) => sentMs >= beganMs + KNOWN_AFTER_MS);
  const of = (some, route) => some.filter((each) => each.route === route).map(tookMs);
  const bare = of(during, 'bare');
  const seen = (of) => after.map((each, i) => each[of].length - before[i][of].length);
  const [outs, backs] = [seen('out'), seen('back')];
  const recoveredMs = after.map((each, i) =>
    backs[i] > 0 ? Math.max(0, each.back.at(-1) - endedAt) : outs[i] > 0 ? Infinity : 0,
  );
  const unhandled = after.flatMap((each, i) => each.unhandled.slice(before[i].unhandled.length));
  const lines = Math.max(...after.map((each, i) => each.logged - before[i].logged));
  const problem = (text) => problems.push(`${fault.name}: ${text}`);
  if (unhandled.length > 0) problem(`unhandled: ${unhandled[0]}`);
  if (Math.max(...recoveredMs) > 5000) problem('not back within 5 s');
  // One line when it goes out, none a request.
  if (lines > 2 * Math.max(1, ...outs)) problem(`${lines} lines in the log`);
  return ['local', 'open', 'closed'].map((route) => {
    const mine = calls.filter((each) => each.route === route);
    const passed = mine.filter(({ status }) => status === 200);
    const factor = route === 'local' && fault.isOut ? INSTANCES : 1;
    const extra =
      (fault.forgets ? LIMIT.capacity : 0) + (fault.steps === undefined ? 0 : 2 * LIMIT.capacity);
    const allowed = {
      rate: LIMIT.rate * factor,
      capacity: LIMIT.capacity * factor + extra,
    };
    const slack = envelope.tightestWindow(passed, allowed)?.slack ?? 0;
    const excess = Math.max(0, Math.ceil(-slack));
    const latencies = of(during, route);
    const late = envelope.quantile(latencies, 0.99) - envelope.quantile(bare, 0.99);
    const others = mine.filter(({ status }) => ![200, 429, 503].includes(status));
    if (route !== 'open' && excess > 0)
      problem(`${route} let ${excess} through above its envelope`);
    if (others.length > 0) problem(`${route} answered ${others[0].status}`);
    if (route !== 'closed' && mine.some(({ status }) => status === 503)) problem(`${route}: 503`);
    if (late > DEADLINE_MS + MARGIN_MS)
      problem(`${route}: p99 ${Math.round(late)} ms above the bare route`);
    const refused = during.filter((each) => each.route === route && each.status === 503).length;
    return {
      fault: fault.name,
      policy: route,
      latencies,
      bare,
      known: fault.isOut ? [of(known, route), of(known, 'bare')] : undefined,
      excess: route === 'open' ? '–' : String(excess),
      failed: refused,
      calls: latencies.length,
      recovered: Math.max(...recoveredMs),
    };
  });
}

function tookMs({ sentMs, receivedMs }) {
  return receivedMs - sentMs;
}

function print() {
  const ms = (values, share) => envelope.quantile(values, share).toFixed(1);
  const both = (values) => `${ms(values, 0.5)} / ${ms(values, 0.99)}`;
  console.log(
    `\n${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} cores; ` +
      `${INSTANCES} instances, ${LIMIT.rate} a second and bursts of ${LIMIT.capacity} a policy, each called ` +
      `${1000 / PAUSE_MS} times a second; faults of ${FAULT_MS / 1000} s; deadline ${DEADLINE_MS} ms\n`,
  );
  console.log(
    '| fault | policy | p50 / p99 ms | bare | once known: p50 / p99 | bare | above the envelope | 503 | back after s |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const row of rows) {
    const cells = [
      row.fault,
      `\`${row.policy}\``,
      both(row.latencies),
      both(row.bare),
      ...(row.known?.map(both) ?? ['', '']),
      row.excess,
      `${row.failed} of ${row.calls}`,
      (row.recovered / 1000).toFixed(1),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
}
