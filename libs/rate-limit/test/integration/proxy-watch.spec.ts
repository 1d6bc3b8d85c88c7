// A proxy that nobody told the framework about: said once, with the remedy.
import { Controller, Get, Logger } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { byHeader, RateLimit, RateLimitGuard, RateLimitModule } from 'nest-rate-limit';
import { ADAPTERS, closeApps, startApp, times } from '../support/nest-app';

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
    if (/proxy/.test(line)) warnings.push(line);
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

  it('is told of Forwarded, which neither framework reads', async () => {
    const { statuses } = await startApp(app, { adapter });
    const forwarded = { forwarded: 'for=203.0.113.7' };
    expect(await statuses(2, '/', forwarded)).toEqual([200, 200]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('with Forwarded, ');
    expect(warnings[0]).toContain('X-Forwarded-For');
  });

  const trusting = (trusted: string[]) =>
    startApp(app, {
      adapter: name === 'Express' ? adapter : () => new FastifyAdapter({ trustProxy: trusted }),
      prepare: (nest) => {
        if (name === 'Express') (nest as NestExpressApplication).set('trust proxy', trusted);
      },
    });

  it('is not told where a proxy is trusted', async () => {
    const { statuses } = await trusting(['127.0.0.1']);
    expect(await statuses(101, '/', FORWARDED)).toEqual(times(101, 200));
    expect(warnings).toEqual([]);
  });

  it('is told once where others are trusted than those that come', async () => {
    const { statuses } = await trusting(['10.0.0.0/8']);
    // One who comes past the proxies is trusted by nobody, and that is as it should be.
    expect(await statuses(99, '/', FORWARDED)).toEqual(times(99, 200));
    expect(warnings).toEqual([]);
    expect(await statuses(102, '/', FORWARDED)).toEqual(times(102, 200));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/^100 requests .*Name the addresses of your proxies/);
  });
});

it('a number of hops, which trusts nobody on Fastify, is found out there', async () => {
  const { statuses } = await startApp(app, {
    // Older versions took it.
    adapter: () => new FastifyAdapter({ trustProxy: 1 as never }),
  });
  expect(await statuses(100, '/', FORWARDED)).toEqual(times(100, 200));
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain('a number of hops trusts nobody');
});
