#!/usr/bin/env node
// `npm run bench:queue`: our queue beside BullMQ's own limiter and its delayed jobs at the same rate, and beside a plain
// queue where nobody waits. One machine, one Redis, one run, in alternating order. `-- --quick` is a look, not a measurement.
import { cpus } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureDependencies } from '../tools/dependencies.mjs';
import { findRedis, NO_REDIS_HELP } from '../tools/redis/find-redis.mjs';

const here = dirname(fileURLToPath(import.meta.url));
ensureDependencies(here);
const { overhead } = await import('./queue/overhead.mjs');
const { pacing } = await import('./queue/pacing.mjs');
const { median, table } = await import('./queue/figures.mjs');

const quick = process.argv.includes('--quick');
const redis = await findRedis();
if (!redis) {
  console.error(NO_REDIS_HELP);
  process.exit(1);
}
const { length: cores, 0: cpu } = cpus();
console.log(`Node ${process.version}, ${cores} × ${cpu.model}${quick ? ', quick' : ''}\n`);

const PACING = { rate: 50, jobs: quick ? 150 : 500, rounds: quick ? 1 : 3 };
const paced = await alternating(PACING.rounds, ['ours', 'limiter', 'delayed'], (what) =>
  pacing(what, { redis, ...PACING }),
);
console.log(`Pacing: ${PACING.jobs} jobs at ${PACING.rate} a second, median of ${PACING.rounds}\n`);
console.log(
  table(
    ['', 'most starts in a second', 'late p50 (ms)', 'late p99 (ms)', 'total (s)', 'planned (s)'],
    paced.map(({ name, rounds }) => [
      name,
      Math.max(...rounds.map(({ most }) => most)),
      ...['p50', 'p99', 'totalS', 'plannedS'].map((key) => median(rounds.map((r) => r[key]))),
    ]),
  ),
);

const OVERHEAD = { jobs: quick ? 1000 : 6000, rounds: quick ? 1 : 5 };
const costs = await alternating(OVERHEAD.rounds, ['plain', 'ours'], (what) =>
  overhead(what, { redis, ...OVERHEAD }),
);
const [plain] = costs;
console.log(`\nNobody waits: ${OVERHEAD.jobs} jobs without work, median of ${OVERHEAD.rounds}\n`);
console.log(
  table(
    ['', 'jobs/s', 'Node CPU (µs a job)', 'Redis CPU (µs a job)', 'time, × plain'],
    costs.map(({ name, rounds }) => [
      name,
      Math.round(median(rounds.map((r) => r.perSecond))),
      ...['nodeUs', 'redisUs'].map((key) => Math.round(median(rounds.map((r) => r[key])))),
      median(rounds.map((r, i) => plain.rounds[i].perSecond / r.perSecond)),
    ]),
  ),
);
process.exit(0);

/** Every contender once a round; each round begins with another one. */
async function alternating(count, contenders, measure) {
  const results = new Map(contenders.map((what) => [what, []]));
  for (let round = 0; round < count; round++) {
    for (let i = 0; i < contenders.length; i++) {
      const what = contenders[(i + round) % contenders.length];
      results.get(what).push(await measure(what));
    }
  }
  return [...results].map(([what, rounds]) => ({ name: rounds[0].name ?? what, rounds }));
}
