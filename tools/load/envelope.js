// Judges a recorded run of calls against the law of a token bucket. Pure: no clock, no network.
//
// A call was decided at some instant between `sentMs` and `receivedMs`, on the caller's clock. Which instant is
// unknown, so only calls that must lie in a window are counted against it, and a window is never taken too short:
// what is reported here as a violation is one, whatever the network did. The other clock, Redis', runs at most
// 0.05 % faster or slower (what NTP may slew): over a run of 10 s at 100 a second that is half a token, hence the
// allowance of one.

const ALLOWANCE = 1;

/**
 * The window over which the most was admitted beyond the law: of all pairs of admitted calls, the one with the least
 *   slack = capacity + rate × T + 1 − calls in between,   T = received of the one − sent of the other.
 * A negative slack is a violation. `undefined` when nothing was admitted.
 *
 * @param calls admitted ones, each of cost 1: { sentMs, receivedMs }
 * @param limit { rate } a second, { capacity }
 */
function tightestWindow(calls, limit) {
  const latestFirst = [...calls].sort((a, b) => b.sentMs - a.sentMs);
  const ends = []; // of the calls that were sent at or after the window's start, ascending
  let tightest;
  for (const { sentMs, receivedMs } of latestFirst) {
    ends.splice(position(ends, receivedMs), 0, receivedMs);
    tightest = tighter(ends, sentMs, limit, tightest);
  }
  return tightest;
}

/** The same over the windows that begin at `fromMs`, when the bucket held at most `capacity` tokens. */
function tightestSince(calls, limit, fromMs) {
  const ends = calls.map(({ receivedMs }) => receivedMs).sort((a, b) => a - b);
  return tighter(ends, fromMs, limit, undefined);
}

function tighter(ends, fromMs, { rate, capacity }, known) {
  let tightest = known;
  ends.forEach((toMs, before) => {
    const count = before + 1;
    const slack = capacity + (rate * (toMs - fromMs)) / 1000 + ALLOWANCE - count;
    if (tightest === undefined || slack < tightest.slack) tightest = { slack, count, fromMs, toMs };
  });
  return tightest;
}

/**
 * The refusal with the least right to be one. A bucket that held `tokens` at some instant up to `sinceMs` and did not
 * run full since has less than one token at a refusal, so before it were admitted more than
 *   tokens + rate × T − 1,   T = sent of the refused call − sinceMs.
 * Returns { slack, sentMs } with slack = admitted + 1 + 1 − tokens − rate × T; a negative one is a violation.
 *
 * @param start { tokens, sinceMs }
 */
function leastDueRefusal(refused, admitted, { rate }, { tokens, sinceMs }) {
  const starts = admitted.map(({ sentMs }) => sentMs).sort((a, b) => a - b);
  let least;
  for (const { sentMs, receivedMs } of refused) {
    // All that may have been decided before it.
    const before = position(starts, receivedMs);
    const slack = before + 1 + ALLOWANCE - tokens - (rate * (sentMs - sinceMs)) / 1000;
    if (least === undefined || slack < least.slack) least = { slack, sentMs };
  }
  return least;
}

/** How many of the ascending `values` are at most `value`. */
function position(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The value that a share of the numbers does not exceed. */
function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}

module.exports = { tightestWindow, tightestSince, leastDueRefusal, quantile };
