// One guarded application: a bare route, and one for each failure policy. Tells its parent what happened to it.
require('reflect-metadata');
const { Controller, Get, Module } = require('@nestjs/common');
const { APP_GUARD, NestFactory } = require('@nestjs/core');
const { FastifyAdapter } = require('@nestjs/platform-fastify');
const {
  byHeader,
  RateLimit,
  RateLimiterService,
  RateLimitGuard,
  RateLimitModule,
} = require('../../libs/rate-limit/dist/index.js');

const { redis, rate, capacity, storeTimeoutMs } = JSON.parse(process.argv[2]);
const happened = { out: [], back: [], unhandled: [], logged: 0 };

class Routes {
  bare() {
    return 'ok';
  }
}
const decorate = (method, ...decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(Routes.prototype, method);
  for (const decorator of decorators) decorator(Routes.prototype, method, descriptor);
  Object.defineProperty(Routes.prototype, method, descriptor);
};
decorate('bare', Get('bare'));
for (const onStoreFailure of ['local', 'open', 'closed']) {
  Routes.prototype[onStoreFailure] = { [onStoreFailure]: () => 'ok' }[onStoreFailure];
  const limit = { name: onStoreFailure, rate, capacity, key: byHeader('x-key'), onStoreFailure };
  decorate(onStoreFailure, Get(onStoreFailure), RateLimit(limit));
}
Controller()(Routes);

class App {}
Module({
  imports: [RateLimitModule.forRoot({ redis, storeTimeoutMs })],
  controllers: [Routes],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})(App);

process.on('unhandledRejection', (error) => happened.unhandled.push(String(error)));
process.on('uncaughtException', (error) => happened.unhandled.push(String(error)));
process.on('message', () => process.send({ happened }));

const count = () => {
  happened.logged++;
};
const logger = { log() {}, debug() {}, verbose() {}, warn: count, error: count, fatal: count };

void NestFactory.create(App, new FastifyAdapter(), { logger }).then(async (app) => {
  const { events } = app.get(RateLimiterService);
  events.on('storeOut', () => happened.out.push(Date.now()));
  events.on('storeBack', () => happened.back.push(Date.now()));
  await app.listen(0, '127.0.0.1');
  process.send({ port: app.getHttpServer().address().port });
});
process.on('disconnect', () => process.exit());
