#!/usr/bin/env node
// `npm run bench:memory`: ten million callers that nobody has seen before, against the memory store and against the local
// buckets of an outage. Memory has to stay flat, nobody may get a drained bucket back, and no call may stall.
// `-- 1000000` for another number of callers.
import { createRequire } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { setTimeout as delay } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const require = createRequire(import.meta.url);
const from = (path) => require(`../libs/rate-limit/dist/${path}.js`);
const { bucketNamer } = from('core/bucket-key');
const { parseLimit } = from('core/limit');
const { MemoryStore } = from('store/memory/memory-store');
const { ResilientStore } = from('store/resilient/resilient-store');

const CALLERS = Number(process.argv[2] ?? 10_000_000);
const LOOKS = 10;
const MB = 2 ** 20;
const DAY_MS = 86_400_000;
const limit = parseLimit({ rate: 20, per: 'day', capacity: 20 }, 'bench');
const place = bucketNamer('rl').place('default', 'app');
/** The store's clock goes on with the process', and may be moved. */
let movedMs = 0;
const clock = { nowMs: () => Date.now() + movedMs, monotonicMs: () => performance.now() + movedMs };

const charge = (key, tokens = 1) => ({
  bucket: place.bucket(key),
  place: place.name,
  configuration: place.configuration(key),
  limit,
  localLimit: limit,
  price: tokens * 1000 * limit.q,
  maxWaitUs: 0,
  failureMode: 'local',
});

const out = { source: 'shared', take: gone, peek: gone, reset: gone };
function gone() {
  throw new Error('Connection is closed.');
}

console.log(`Node ${process.version}, ${CALLERS} callers, one call each, maxBuckets 1000000\n`);
const memory = new MemoryStore({ clock });
await flood(
  'memory store',
  (charges) => memory.take(charges),
  () => memory.size,
);
memory.close();
const resilient = new ResilientStore(out, { clock, timeoutMs: 250, onChange() {} });
// Until the breaker knows; then it is not asked.
for (let i = 0; i < 10; i++) await resilient.take([charge('first')]).catch(() => undefined);
await flood(
  'local buckets, Redis out',
  async (charges) => (await resilient.take(charges)).outcomes,
);
await resilient.close();

async function flood(name, take, size) {
  const honest = Array.from({ length: 100 }, (_, i) => `user:id:${i}`);
  for (const key of honest) await take([charge(key, 20)]);
  gc();
  const before = process.memoryUsage();
  const heapMb = () => {
    gc();
    return Math.round((process.memoryUsage().heapUsed - before.heapUsed) / MB);
  };
  const heaps = [];
  const late = [0, 0, 0];
  let longestMs = 0;
  let spentMs = 0;
  for (let i = 0; i < CALLERS; i++) {
    const asked = charge(`ip:${i >> 24}.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`);
    const startMs = performance.now();
    const taken = take([asked]);
    const tookMs = performance.now() - startMs;
    if (taken instanceof Promise) await taken;
    spentMs += tookMs;
    longestMs = Math.max(longestMs, tookMs);
    [5, 20, 50].forEach((ms, at) => (late[at] += tookMs > ms));
    if ((i + 1) % (CALLERS / LOOKS) === 0) heaps.push(heapMb());
    // A server breathes between its requests.
    if (i % 1000 === 0) await delay(0);
  }
  const rss = Math.round((process.memoryUsage().rss - before.rss) / MB);
  const drained = await Promise.all(honest.map((key) => take([charge(key)])));
  const back = drained.filter(([{ granted }]) => granted).length;
  movedMs += 2 * DAY_MS;
  const idleMs = performance.now();
  while (heapMb() > 20 && performance.now() - idleMs < 60_000) await delay(500);
  const idleS = ((performance.now() - idleMs) / 1000).toFixed(1);
  console.log(`${name}
  heap after each tenth (MB): ${heaps.join(' ')}; resident at the end ${rss} MB
  ${((spentMs * 1000) / CALLERS).toFixed(1)} µs a call; longest ${longestMs.toFixed(1)} ms; calls over 5, 20, 50 ms: ${late.join(', ')}
  drained buckets that came back: ${back} of ${honest.length}
  once all are full and nobody calls: ${heapMb()} MB after ${idleS} s${size ? `, ${size()} buckets` : ''}
`);
}
