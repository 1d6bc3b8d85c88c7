// One application that uses everything at a modest pace, and tells its parent how it is.
require('reflect-metadata');
const { setTimeout: delay } = require('node:timers/promises');
const { Controller, Get, Module } = require('@nestjs/common');
const { APP_GUARD, NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const lib = '../../libs/rate-limit/dist';
const rateLimit = require(`${lib}/index.js`);
const queues = require(`${lib}/queue/index.js`);

const { byHeader, ConcurrencyLimit, RateLimit, RateLimitError, RateLimiterService } = rateLimit;
const { redis, rate, capacity } = JSON.parse(process.argv[2]);
const LIMIT = { name: 'service', rate, capacity };
const happened = { unhandled: [], foreign: [], calls: 0, done: 0, jobs: 0, submitted: 0 };

class Routes {
  steady() {
    return 'ok';
  }
  /** A key for every call. */
  made() {
    return 'ok';
  }
  async slots() {
    await delay(60);
    return 'ok';
  }
  failures() {
    return 'ok';
  }
}
const decorate = (method, ...decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, method);
  for (const decorator of decorators) decorator(Routes.prototype, method, descriptor);
  Object.defineProperty(Routes.prototype, method, descriptor);
};
const key = byHeader('x-key');
decorate('steady', Get('steady'), RateLimit({ name: 'steady', rate, capacity, key }));
decorate('made', Get('made'), RateLimit({ name: 'made', rate, capacity, key }));
decorate('slots', Get('slots'), ConcurrencyLimit({ name: 'slots', max: 3, key, leaseMs: 2000 }));
decorate(
  'failures',
  Get('failures'),
  RateLimit({ name: 'failures', rate, capacity, key, chargeOn: 'failure' }),
);
Controller()(Routes);

class Processor {
  async process() {
    happened.jobs++;
    await delay(5);
    return 'done';
  }
}
queues.RateLimitedProcessor('soak')(Processor);

class App {}
Module({
  imports: [
    rateLimit.RateLimitModule.forRoot({ redis, policies: { service: { rate, capacity } } }),
    queues.RateLimitQueueModule.register({
      name: 'soak',
      rate: 10,
      capacity: 10,
      maxWaitMs: 20_000,
      resultTtlMs: 30_000,
      job: { removeOnComplete: 100, removeOnFail: 100 },
    }),
  ],
  controllers: [Routes],
  providers: [{ provide: APP_GUARD, useClass: rateLimit.RateLimitGuard }, Processor],
})(App);

process.on('unhandledRejection', (error) => happened.unhandled.push(String(error?.stack ?? error)));
process.on('uncaughtException', (error) => happened.unhandled.push(String(error?.stack ?? error)));

/** Everything by hand; what is refused, or out, is as it should be. */
async function use(limiter, queue, turn) {
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
    () => limiter.configure(mine, LIMIT, { policy: 'service', ttlMs: 2000 }),
    () => limiter.block(mine, 'service', 20),
    () =>
      limiter.consumeAll([
        { key: mine, limit: 'service' },
        { key: 'all', limit: LIMIT },
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
}

const silent = { log() {}, debug() {}, verbose() {}, warn() {}, error() {}, fatal() {} };
void NestFactory.create(App, new FastifyAdapter(), { logger: silent }).then(async (app) => {
  const limiter = app.get(RateLimiterService);
  const queue = app.get(queues.getRateLimitedQueueToken('soak'), { strict: false });
  await app.listen(0, '127.0.0.1');
  let turn = 0;
  setInterval(() => void use(limiter, queue, turn++), 40);
  process.on('message', () => {
    global.gc();
    const handles = {};
    for (const each of process.getActiveResourcesInfo()) handles[each] = (handles[each] ?? 0) + 1;
    const { heapUsed, rss } = process.memoryUsage();
    process.send({ heapMb: heapUsed / 2 ** 20, rssMb: rss / 2 ** 20, handles, happened });
  });
  process.send({ port: app.getHttpServer().address().port });
});
process.on('disconnect', () => process.exit());
