// A proxy that nobody told the framework about: said once, with the remedy.
import { Controller, Get, Logger } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { byHeader, RateLimit, RateLimitGuard, RateLimitModule } from 'nest-rate-limit';
import { ADAPTERS, closeApps, startApp } from '../support/nest-app';

@Controller()
class Routes {
  @Get()
  @RateLimit(1000)
  byAddress() {
    return 'ok';
  }

  @Get('key')
  @RateLimit({ rate: 1000, key: byHeader('x-api-key') })
  byKey() {
    return 'ok';
  }
}

const app = {
  imports: [RateLimitModule.forRoot()],
  controllers: [Routes],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
};
const FORWARDED = { 'x-forwarded-for': '203.0.113.7', 'x-api-key': 'k' };

let warnings: string[];
beforeEach(() => {
  warnings = [];
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: string) => {
    if (line.includes('X-Forwarded-For')) warnings.push(line);
  });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
});

describe.each(ADAPTERS)('on %s', (name, adapter) => {
  it('is told once, when an address counts', async () => {
    const { statuses } = await startApp(app, { adapter });
    expect(await statuses(2, '/')).toEqual([200, 200]);
    expect(await statuses(2, '/key', FORWARDED)).toEqual([200, 200]);
    expect(warnings).toEqual([]);
    expect(await statuses(3, '/', FORWARDED)).toEqual([200, 200, 200]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(name === 'Express' ? "'trust proxy'" : 'trustProxy');
  });

  it('is not told where a proxy is trusted', async () => {
    const trusting =
      name === 'Express' ? adapter : () => new FastifyAdapter({ trustProxy: ['127.0.0.1'] });
    const { statuses } = await startApp(app, {
      adapter: trusting,
      prepare: (nest) => {
        if (name === 'Express') (nest as NestExpressApplication).set('trust proxy', ['127.0.0.1']);
      },
    });
    expect(await statuses(2, '/', FORWARDED)).toEqual([200, 200]);
    expect(warnings).toEqual([]);
  });
});
