// Our queue in a Nest application without HTTP, as a user has it: from the built package.
import { createRequire } from 'node:module';

const library = createRequire(new URL('../../package.json', import.meta.url));
library('reflect-metadata');
const { Module } = library('@nestjs/common');
const { NestFactory } = library('@nestjs/core');
const { getRateLimitedQueueToken, RateLimitedProcessor, RateLimitQueueModule } =
  library('nest-rate-limit/queue');

/** Opens a queue; with `process`, works it off as well. */
export async function openOurs({ redis, process, ...options }) {
  class Processor {
    process(job) {
      return process(job);
    }
  }
  RateLimitedProcessor(options.name)(Processor);
  class AppModule {}
  Module({
    imports: [
      RateLimitQueueModule.register({
        connection: redis,
        submitOnly: process === undefined,
        ...options,
      }),
    ],
    providers: process === undefined ? [] : [Processor],
  })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  return { queue: app.get(getRateLimitedQueueToken(options.name)), close: () => app.close() };
}
