// One application that uses everything at a modest pace, and tells its parent how it is.
require('reflect-metadata');
const { setTimeout: delay } = require('node:timers/promises');
const { Controller, Get, Headers, Module } = require('@nestjs/common');
const { APP_GUARD, NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const lib = '../../libs/rate-limit/dist';
const rateLimit = require(`${lib}/index.js`);
const queues = require(`${lib}/queue/index.js`);

const use = require('./use.cjs');

const { byHeader, ConcurrencyLimit, RateLimit, RateLimiterService } = rateLimit;
const { redis, law } = JSON.parse(process.argv[2]);
const { rate, capacity } = law.steady;
const LIMIT = { name: 'service', rate, capacity };
const happened = { calls: 0, done: 0, jobs: 0, submitted: 0, inFlight: 0 };
/** Since the parent last asked. */
const since = () => ({
  unhandled: [],
  foreign: [],
  starts: [],
  mostInFlight: 0,
  outs: 0,
  lines: 0,
});
Object.assign(happened, since());
const inFlight = new Map();
let outSinceMs;

class Routes {
  steady() {
    return 'ok';
  }
  /** A key for every call. */
  made() {
    return 'ok';
  }
  /** Longer than its lease, and asked for more often than it may be. */
  async slots(user) {
    const now = (inFlight.get(user) ?? 0) + 1;
    inFlight.set(user, now);
    happened.inFlight++;
    happened.mostInFlight = Math.max(happened.mostInFlight, now);
    await delay(2500);
    inFlight.set(user, inFlight.get(user) - 1);
    happened.inFlight--;
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
const slots = { name: 'slots', max: law.slots, key, leaseMs: 2000 };
decorate('slots', Get('slots'), ConcurrencyLimit(slots));
Headers('x-key')(Routes.prototype, 'slots', 0);
decorate(
  'failures',
  Get('failures'),
  RateLimit({ name: 'failures', rate, capacity, key, chargeOn: 'failure' }),
);
Controller()(Routes);

class Processor {
  async process() {
    happened.jobs++;
    happened.starts.push(performance.now());
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
      ...law.jobs,
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

const count = () => void happened.lines++;
const logger = { log: count, debug() {}, verbose() {}, warn: count, error: count, fatal: count };
void NestFactory.create(App, new FastifyAdapter(), { logger }).then(async (app) => {
  const limiter = app.get(RateLimiterService);
  const queue = app.get(queues.getRateLimitedQueueToken('soak'), { strict: false });
  limiter.events.on('storeOut', () => {
    happened.outs++;
    outSinceMs = performance.now();
  });
  limiter.events.on('storeBack', () => (outSinceMs = undefined));
  await app.listen(0, '127.0.0.1');
  let turn = 0;
  let pace;
  process.on('message', (asked) => {
    if (asked === 'begin') {
      pace = setInterval(() => void use(limiter, queue, turn++, LIMIT, happened), 40);
    }
    if (asked === 'end') clearInterval(pace);
    if (asked !== '?') return;
    global.gc();
    const { heapUsed, rss } = process.memoryUsage();
    const handles = process.getActiveResourcesInfo().length;
    happened.outForMs = outSinceMs === undefined ? 0 : performance.now() - outSinceMs;
    process.send({ heapMb: heapUsed / 2 ** 20, rssMb: rss / 2 ** 20, handles, happened });
    Object.assign(happened, since());
  });
  process.send({ port: app.getHttpServer().address().port });
});
process.on('disconnect', () => process.exit());
