// A process with a Nest application that works a queue off: `node queue-app-process.ts '<AppConfig as JSON>'`. Says
// 'ready', and the number of each job that starts; SIGTERM closes it, and after that nothing may keep it alive.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as delay } from 'node:timers/promises';
import { RateLimitedProcessor, RateLimitQueueModule } from '../../src/queue';

/** What a job of the application does. */
export interface AppWork {
  readonly n: number;
  /** How long it works, in ms. */
  readonly ms?: number;
  /** Never ends, and does not care for its signal. */
  readonly deaf?: boolean;
}

export interface AppConfig {
  readonly redis: string;
  readonly name: string;
}

const { redis, name } = JSON.parse(process.argv[2]) as AppConfig;

@RateLimitedProcessor(name)
class Processor {
  async process({ data }: { data: AppWork }): Promise<number> {
    process.send?.({ started: data.n });
    if (data.deaf === true) await new Promise(() => undefined);
    await delay(data.ms ?? 0);
    return data.n;
  }
}

@Module({
  imports: [
    RateLimitQueueModule.register<AppWork>({ name, rate: 1000, capacity: 5, connection: redis }),
  ],
  providers: [Processor],
})
class AppModule {}

async function start(): Promise<void> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  // The channel to the test is the test's; it must not hold the process.
  process.channel?.unref();
  app.enableShutdownHooks();
  process.send?.('ready');
}

void start();
