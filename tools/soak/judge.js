// Judges what a soak saw: each round by what its fault may cost, the whole run by what grew, and the end by what is
// left when nobody calls any more. Pure: no clock, no network.
const { quantile, tightestWindow } = require('../load/envelope.js');

/** What later rounds may hold more than early ones: a busy machine is not a leak. */
const GROWTH = {
  'MB of heap': [(sample) => sample.heapMb, 8],
  handles: [(sample) => sample.handles, 15],
  'connections to Redis': [(sample) => sample.connections, 3],
  'open calls': [(sample) => sample.open, 50],
  'keys of limits': [(sample) => sample.keys.limits, 300],
  'keys of the queue': [(sample) => sample.keys.queue, 300],
};
/** Probes come every second at most, and a silent connection is given up after five. */
const BACK_WITHIN_MS = 6000;
/** Handles that Node and BullMQ may keep a little longer. */
const IDLE_HANDLES = 5;

/** Full buckets that a fault may add to the one in Redis: our own, a forgotten one, one for each step of the clock. */
function spareBuckets({ isOut, forgets, steps }) {
  return (isOut ? 1 : 0) + (forgets ? 1 : 0) + (steps === undefined ? 0 : 2);
}

/**
 * What was wrong in a round.
 *
 * @param fault of faults.mjs
 * @param seen { admitted, starts, mostInFlight, outs, outForMs, unhandled, foreign, endless }
 * @param law { steady, jobs: limits; slots: how many at a time; seconds: length of the round }
 */
function roundProblems(fault, seen, law) {
  const problems = [];
  // A busy machine makes outages of its own: when the limiter says that it is on its own, `local` holds.
  const isOut = fault.isOut === true || seen.outs > 0;
  const sets = 1 + spareBuckets({ ...fault, isOut });
  // What Redis refills while this process limits alone is there when it is back: once more for each further outage.
  const buckets = sets + Math.max(0, seen.outs - 1);
  const above = (calls, { rate, capacity }) =>
    Math.max(0, Math.ceil(-(tightestWindow(calls, { rate, capacity })?.slack ?? 0)));
  const { steady, jobs } = law;
  const steadyAbove = above(seen.admitted, { ...steady, capacity: steady.capacity * buckets });
  if (steadyAbove > 0) problems.push(`${steadyAbove} calls above the envelope`);
  // No job starts while Redis is out. One may be late for its start, as the law of the pace allows.
  const jobBuckets = 1 + spareBuckets({ ...fault, isOut: false });
  const jobsAbove = above(seen.starts, { ...jobs, capacity: jobs.capacity * jobBuckets + 1 });
  if (jobsAbove > 0) problems.push(`${jobsAbove} jobs started above the envelope`);
  if (seen.mostInFlight > law.slots * sets)
    problems.push(`${seen.mostInFlight} calls at a time, of ${law.slots}`);
  if (seen.admitted.length < (steady.rate * law.seconds) / 2)
    problems.push(`only ${seen.admitted.length} of the steady calls passed`);
  if (seen.outForMs > BACK_WITHIN_MS)
    problems.push(`Redis is back, and taken for out for ${Math.round(seen.outForMs)} ms`);
  if (seen.endless > 0) problems.push(`${seen.endless} keys of limits without an end`);
  problems.push(...seen.unhandled.map((error) => `unhandled: ${error}`));
  problems.push(...seen.foreign.map((error) => `no error of ours: ${error}`));
  return problems;
}

/** By how much the last quarter of the samples is above the second, for each thing: [more, most]. The first warms up. */
function growth(samples) {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const early = samples.slice(quarter, 2 * quarter);
  const late = samples.slice(-quarter);
  const median = (some, of) => quantile(some.map(of), 0.5);
  return Object.fromEntries(
    Object.entries(GROWTH).map(([what, [of, most]]) => [
      what,
      [median(late, of) - median(early, of), most],
    ]),
  );
}

/** What is left when nobody called for longer than anything may last, beside `before` the first call. */
function leftovers(before, after) {
  const left = {
    'open calls': [after.open, 0],
    'calls in flight': [after.inFlight, 0],
    'keys of limits': [after.keys.limits, 0],
    handles: [after.handles, before.handles + IDLE_HANDLES],
    'connections to Redis': [after.connections, before.connections],
  };
  return Object.entries(left)
    .filter(([, [is, most]]) => is > most)
    .map(([what, [is, most]]) => `left at the end: ${is} ${what}, at most ${most} expected`);
}

module.exports = { roundProblems, growth, leftovers };
