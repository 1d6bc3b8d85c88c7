// Trial B23 and its kind over real HTTP: one client is one bucket, whatever his address looks like on the way, and what
// he writes into X-Forwarded-For himself buys him nothing.
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, Get } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { byIp, RateLimit, RateLimitGuard, RateLimitModule } from 'nest-rate-limit';
import { type App, type AppOptions, closeApps, startApp, times } from '../support/nest-app';

@Controller()
class Routes {
  @Get()
  @RateLimit(0.001, 2)
  get() {
    return 'ok';
  }
  @Get('subnet')
  @RateLimit({ rate: 0.001, capacity: 2, key: byIp({ ipv6Prefix: 48 }) })
  bySubnet() {
    return 'ok';
  }
  @Get('address')
  @RateLimit({ rate: 0.001, capacity: 2, key: byIp({ ipv6Prefix: 128 }) })
  byAddress() {
    return 'ok';
  }
}

const metadata = {
  imports: [RateLimitModule.forRoot()],
  controllers: [Routes],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
};

type Trust = boolean | string[] | ((address: string, hop: number) => boolean);

const onExpress = (trust: Trust | number): AppOptions => ({
  adapter: () => new ExpressAdapter(),
  prepare: (nest) => (nest as NestExpressApplication).set('trust proxy', trust),
});
const onFastify = (trust: Trust): AppOptions => ({
  adapter: () => new FastifyAdapter({ trustProxy: trust }),
});
const express = (trust: Trust | number) => startApp(metadata, onExpress(trust));
const fastify = (trust: Trust) => startApp(metadata, onFastify(trust));

afterEach(closeApps);

/** Statuses of calls, one after the other, each with its own X-Forwarded-For. */
async function through(app: App, forwarded: readonly string[], path = '/'): Promise<number[]> {
  const statuses: number[] = [];
  for (const each of forwarded) {
    statuses.push((await app.get(path, { 'x-forwarded-for': each })).status);
  }
  return statuses;
}

describe.each([
  ['Express', express],
  ['Fastify', fastify],
])('B23 on %s, behind a proxy that is named', (_, start) => {
  const behind = () => start(['127.0.0.1']);

  it.each([
    ['IPv4, mapped or not', ['1.2.3.4', '::ffff:1.2.3.4', '::FFFF:102:304']],
    ['IPv4, spelt out and translated', ['0:0:0:0:0:ffff:1.2.3.4', '64:ff9b::1.2.3.4', '1.2.3.4']],
    ['IPv4 with a port', ['1.2.3.4:5678', '1.2.3.4:1', '[::ffff:1.2.3.4]:80']],
    ['IPv6 in any spelling', ['2001:db8::1', '2001:DB8:0:0::1', '[2001:db8::1]:443']],
    ['IPv6 of one subnet', ['2001:db8:1:1::1', '2001:db8:1:1::2', '2001:db8:1:1:ffff::']],
    ['IPv6 with a zone', ['fe80::1%eth0', 'fe80::1%1', 'fe80::1']],
  ])('one client: %s', async (_what, spellings) => {
    expect(await through(await behind(), spellings)).toEqual([200, 200, 429]);
  });

  it('different clients', async () => {
    const others = ['::ffff:1.2.3.5', '2001:db8::1', '2001:db8:1:1::1.2.3.4', '64:ff9b::5.6.7.8'];
    const app = await behind();
    expect(await through(app, times(3, '1.2.3.4'))).toEqual([200, 200, 429]);
    expect(await through(app, others)).toEqual(times(4, 200));
  });

  it('subnets as large as they were asked for', async () => {
    const app = await behind();
    const customer = ['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:2::1'];
    expect(await through(app, customer, '/subnet')).toEqual([200, 200, 429, 200]);
    expect(await through(app, customer, '/address')).toEqual(times(4, 200));
  });

  it('what the client writes in front of the proxy’s word does not count', async () => {
    const spoofed = ['9.9.9.1', '9.9.9.2, 8.8.8.8', 'unknown', '', ',,,', '"quoted"', '\t;=']
      .map((text) => `${text}, 203.0.113.7`)
      .concat(`${Array.from({ length: 4000 }, (__, i) => i % 10).join()}, 203.0.113.7`);
    const app = await behind();
    expect(await through(app, spoofed)).toEqual([200, 200, ...times(spoofed.length - 2, 429)]);
  });

  it('several lines of the header are one list', async () => {
    const app = await behind();
    const status = (lines: string[]) =>
      new Promise<number | undefined>((resolve, reject) => {
        request(app.url, { headers: { 'x-forwarded-for': lines } }, (answer) =>
          answer.resume().on('end', () => resolve(answer.statusCode)),
        )
          .on('error', reject)
          .end();
      });
    expect(await status(['9.9.9.9', '203.0.113.7'])).toBe(200);
    expect(await status(['8.8.8.8', '7.7.7.7', '203.0.113.7'])).toBe(200);
    expect(await status(['203.0.113.7'])).toBe(429);
  });

  it('a proxy that names nobody: 400, and no bucket for all such', async () => {
    const app = await behind();
    expect(await through(app, ['unknown', '_hidden', 'unknown'])).toEqual([400, 400, 400]);
    expect(await through(app, ['1.2.3.4'])).toEqual([200]);
  });
});

describe.each([
  ['Express', express],
  ['Fastify', fastify],
])('proxy trust on %s', (_, start) => {
  it('nobody: the header buys nothing', async () => {
    const app = await start(false);
    expect(await through(app, ['1.1.1.1', '2.2.2.2', '3.3.3.3'])).toEqual([200, 200, 429]);
  });

  it('a function', async () => {
    const app = await start((address) => address === '127.0.0.1' || address.startsWith('10.'));
    const lines = ['203.0.113.7, 10.9.9.9', '6.6.6.6, 203.0.113.7, 10.1.1.1', '203.0.113.7'];
    expect(await through(app, lines)).toEqual([200, 200, 429]);
  });

  it('somebody else: a caller past the proxies is himself', async () => {
    const app = await start(['10.0.0.0/8']);
    expect(await through(app, ['1.1.1.1', '2.2.2.2', '3.3.3.3'])).toEqual([200, 200, 429]);
  });
});

it('a number of hops on Express: the address that so many proxies vouch for', async () => {
  const app = await express(2);
  // The outer proxy wrote 203.0.113.7, the inner one 10.0.0.1, and whatever stands before is the client's.
  const lines = [
    '203.0.113.7, 10.0.0.1',
    '1.1.1.1, 203.0.113.7, 10.0.0.1',
    '2.2.2.2, 203.0.113.7, 10.0.0.2',
  ];
  expect(await through(app, lines)).toEqual([200, 200, 429]);
  expect(await through(app, ['203.0.113.8, 10.0.0.1'])).toEqual([200]);
});

it('a number of hops on Fastify trusts nobody: one client, and a warning (see proxy-watch.spec.ts)', async () => {
  const app = await fastify(2 as never);
  expect(await through(app, ['1.1.1.1', '2.2.2.2', '3.3.3.3'])).toEqual([200, 200, 429]);
});

describe('behind a proxy that comes over a Unix socket, which has no address', () => {
  const over = (socketPath: string, forwarded: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      request({ socketPath, headers: { 'x-forwarded-for': forwarded } }, (answer) =>
        answer.resume().on('end', () => resolve(answer.statusCode)),
      )
        .on('error', reject)
        .end();
    });

  // Addresses cannot name it.
  it.each<[string, number[], AppOptions]>([
    ['Express, a hop', [200, 200, 429, 200], onExpress(1)],
    ['Express, a function', [200, 200, 429, 200], onExpress((_address, hop) => hop === 0)],
    ['Express, addresses', [400, 400, 400, 400], onExpress(['127.0.0.1'])],
    ['Fastify, a function', [200, 200, 429, 200], onFastify((_address, hop) => hop === 0)],
    ['Fastify, addresses', [400, 400, 400, 400], onFastify(['127.0.0.1'])],
  ])('%s', async (_, expected, options) => {
    const socket = join(tmpdir(), `rl-${randomUUID()}.sock`);
    await startApp(metadata, { ...options, socket });
    const statuses: (number | undefined)[] = [];
    for (const client of ['1.2.3.4', '9.9.9.9, 1.2.3.4', '::ffff:1.2.3.4', '5.6.7.8']) {
      statuses.push(await over(socket, client));
    }
    expect(statuses).toEqual(expected);
    rmSync(socket, { force: true });
  });
});
