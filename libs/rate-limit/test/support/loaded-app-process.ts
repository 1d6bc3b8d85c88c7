// A process with a Nest application under load: `fork` it with queue-ts-hook.cjs and a LoadedAppConfig as JSON. Says
// its URL when it listens.
import 'reflect-metadata';
import { get } from 'node:http';
import { once } from 'node:events';
import { Controller, Get, Module, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ConcurrencyLimit,
  Criticality,
  LoadSheddingModule,
  type LoadSheddingOptions,
  RateLimitModule,
} from '../../src';

export interface LoadedAppConfig {
  readonly redis?: string;
  readonly keyPrefix?: string;
  /** What `/work` asks, with the text that it is given. */
  readonly observer?: string;
  readonly max?: number;
  readonly leaseMs?: number;
  readonly shedding?: LoadSheddingOptions;
}

const config = JSON.parse(process.argv[2]) as LoadedAppConfig;
const { max = 1, leaseMs, redis, keyPrefix, observer } = config;

/** Keeps the event loop busy, as parsing or hashing would. */
function burn(ms: string): string {
  const endMs = performance.now() + Number(ms);
  while (performance.now() < endMs);
  return 'burnt';
}

@Controller()
class Work {
  /** Lasts as long as the observer wants. */
  @Get('work')
  @ConcurrencyLimit({ max, leaseMs, key: () => 'everybody' })
  async work(@Query('as') as: string) {
    const request = get(`${observer}/?as=${as}`);
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    response.resume();
    await once(response, 'end');
    return 'done';
  }

  @Get('critical')
  @Criticality('critical')
  critical(@Query('ms') ms: string) {
    return burn(ms);
  }
  @Get('default')
  other(@Query('ms') ms: string) {
    return burn(ms);
  }
  @Get('sheddable')
  @Criticality('sheddable')
  sheddable(@Query('ms') ms: string) {
    return burn(ms);
  }
}

@Module({
  imports: [
    RateLimitModule.forRoot({ redis, keyPrefix }),
    ...(config.shedding === undefined ? [] : [LoadSheddingModule.forRoot(config.shedding)]),
  ],
  controllers: [Work],
})
class AppModule {}

async function start(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  process.on('disconnect', () => process.exit());
  process.send?.(await app.getUrl());
}

void start();
