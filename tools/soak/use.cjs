// Everything that can be done by hand, one after another; what is refused, or out, is as it should be.
const { setTimeout: delay } = require('node:timers/promises');
const { RateLimitError } = require('../../libs/rate-limit/dist/index.js');

/** @param happened counts calls, those that ended, submissions, and errors that are none of the library's */
module.exports = async function use(limiter, queue, turn, limit, happened) {
  const mine = `user-${turn % 50}`;
  const attempts = [
    () => limiter.consume(mine, 'service'),
    () => limiter.acquire(mine, 'service', { timeoutMs: 500 }),
    () => limiter.acquire(mine, 'service', { signal: AbortSignal.timeout(50) }),
    async () => (await limiter.reserve(mine, 'service', { maxWaitMs: 200 })).settle(0.5),
    async () => (await limiter.reserve(mine, 'service', { maxWaitMs: 200 })).cancel(),
    () =>
      limiter.withBudget([{ key: mine, limit: 'service', cost: 2 }], { maxWaitMs: 100 }, (hold) =>
        hold.used(1),
      ),
    () => limiter.withConcurrency(mine, { max: 2, leaseMs: 1000 }, () => delay(20)),
    () => limiter.refund(mine, 'service', 1),
    () => limiter.peek(mine, 'service'),
    () => limiter.configure(mine, limit, { policy: 'service', ttlMs: 2000 }),
    () => limiter.block(mine, 'service', 20),
    () =>
      limiter.consumeAll([
        { key: mine, limit: 'service' },
        { key: 'all', limit },
      ]),
    async () => {
      const ticket = await queue.submit({ turn }, { key: undefined });
      happened.submitted++;
      if (turn % 5 === 0) await ticket.cancel();
      else await ticket.result({ timeoutMs: 5000 });
    },
  ];
  happened.calls++;
  try {
    await attempts[turn % attempts.length]();
  } catch (error) {
    const isOurs = RateLimitError.is(error) || error?.name === 'TimeoutError';
    if (!isOurs && happened.foreign.length < 20)
      happened.foreign.push(String(error?.stack ?? error));
  }
  happened.done++;
};
