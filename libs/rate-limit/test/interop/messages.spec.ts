// Messages over WebSockets (ws and Socket.IO) and to microservices (TCP and Redis), from real clients.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Logger, UseGuards } from '@nestjs/common';
import {
  type ClientProxy,
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Transport,
} from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { RateLimit, RateLimitGuard, RateLimitModule } from 'nest-rate-limit';
import { firstValueFrom } from 'rxjs';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { type App, closeApps, startApp } from '../support/nest-app';
import { freePort, sharedRedisUrl } from '../support/redis-server';

const NEVER = 0.001;

afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
});

@WebSocketGateway()
class Gateway {
  @SubscribeMessage('talk')
  @UseGuards(RateLimitGuard)
  @RateLimit({ rate: NEVER, capacity: 2 })
  talk() {
    return { event: 'said', data: 'hello' };
  }

  @SubscribeMessage('user')
  @UseGuards(RateLimitGuard)
  @RateLimit({ rate: NEVER, capacity: 1, key: ({ body }) => (body as { user?: string }).user })
  user() {
    return { event: 'said', data: 'user' };
  }
}

const REFUSED = {
  status: 'error',
  statusCode: 429,
  code: 'RATE_LIMITED',
  retryAfter: 1000,
  message: expect.stringContaining('1000 s'),
  violatedPolicies: ['default'],
};

describe('WebSockets', () => {
  const start = (adapter?: 'ws'): Promise<App> =>
    startApp(
      { imports: [RateLimitModule.forRoot()], providers: [Gateway] },
      {
        prepare: (nest) => {
          if (adapter === 'ws') nest.useWebSocketAdapter(new WsAdapter(nest));
        },
      },
    );

  it('Socket.IO: limits by address, and refuses by an exception that says when to come back', async () => {
    const { url } = await start();
    const socket = io(url, { transports: ['websocket'] });
    try {
      const heard: unknown[] = [];
      socket.on('said', (data: unknown) => heard.push(data));
      socket.on('exception', (data: unknown) => heard.push(data));
      for (let i = 0; i < 3; i++) {
        socket.emit('talk', i);
        while (heard.length <= i) await delay(5);
      }
      expect(heard).toEqual(['hello', 'hello', REFUSED]);
    } finally {
      socket.disconnect();
    }
  });

  it('ws: the same, and by what the message says', async () => {
    const { url } = await start('ws');
    const socket = new WebSocket(url.replace('http', 'ws'));
    await once(socket, 'open');
    const heard: { event: string; data: unknown }[] = [];
    socket.on('message', (text: Buffer) => heard.push(JSON.parse(String(text)) as never));
    const say = async (event: string, data: unknown) => {
      const before = heard.length;
      socket.send(JSON.stringify({ event, data }));
      while (heard.length === before) await delay(5);
    };
    for (let i = 0; i < 3; i++) await say('talk', i);
    expect(heard.map(({ event }) => event)).toEqual(['said', 'said', 'exception']);
    expect(heard[2].data).toEqual(REFUSED);
    for (const user of ['ann', 'bob', 'ann']) await say('user', { user });
    await say('user', {});
    expect(heard.slice(3).map(({ event }) => event)).toEqual([
      'said',
      'said',
      'exception',
      'exception',
    ]);
    expect(heard[6].data).toMatchObject({ statusCode: 400, code: 'REFUSED' });
    socket.close();
  });

  it('a limit that only a global guard could see is warned about: it does not reach gateways (B45)', async () => {
    @WebSocketGateway()
    class Unguarded {
      @SubscribeMessage('talk')
      @RateLimit(NEVER, 2)
      talk() {
        return { event: 'said', data: 'hello' };
      }
    }
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    await startApp({ imports: [RateLimitModule.forRoot()], providers: [Unguarded] });
    expect(warn.mock.calls.flat().map(String)).toContainEqual(
      expect.stringContaining('@RateLimit on Unguarded.talk limits nothing'),
    );
  });
});

const events: unknown[] = [];

@Controller()
@UseGuards(RateLimitGuard)
class Messages {
  @MessagePattern('sum')
  @RateLimit({ rate: NEVER, capacity: 2, key: ({ body }) => (body as { user?: string }).user })
  sum({ of }: { of: number[] }) {
    return of.reduce((all, each) => all + each, 0);
  }

  @EventPattern('noted')
  @RateLimit({ rate: NEVER, capacity: 2, key: () => 'all' })
  noted(what: unknown) {
    events.push(what);
  }
}

describe('microservices', () => {
  const redis = new URL(sharedRedisUrl());
  const transports: [string, () => Promise<MicroserviceOptions>][] = [
    [
      'TCP',
      async () => ({
        transport: Transport.TCP,
        options: { port: await freePort(), host: '127.0.0.1' },
      }),
    ],
    [
      'Redis',
      async () =>
        Promise.resolve({
          transport: Transport.REDIS,
          options: { host: redis.hostname, port: Number(redis.port) },
        }),
    ],
  ];

  it.each(transports)(
    '%s: refuses a message by an error object, drops an event, and goes on',
    async (_, options) => {
      events.length = 0;
      const settings = await options();
      const { nest } = await startApp({
        imports: [RateLimitModule.forRoot()],
        controllers: [Messages],
      });
      nest.connectMicroservice<MicroserviceOptions>(settings);
      await nest.startAllMicroservices();
      const client = ClientProxyFactory.create(settings as never) as unknown as ClientProxy;
      try {
        const ask = (user?: string) =>
          firstValueFrom(client.send<number>('sum', { user, of: [1, 2] })).catch(
            (error: unknown) => error,
          );
        expect([await ask('ann'), await ask('ann'), await ask('bob')]).toEqual([3, 3, 3]);
        expect(await ask('ann')).toMatchObject({
          status: 429,
          code: 'RATE_LIMITED',
          retryAfter: 1000,
          violatedPolicies: ['default'],
        });
        expect(await ask()).toMatchObject({ status: 400, code: 'REFUSED' });
        for (let i = 0; i < 5; i++)
          await firstValueFrom(client.emit('noted', i), { defaultValue: 0 });
        await delay(200);
        expect(events).toEqual([0, 1]);
        expect(await ask('eve')).toBe(3);
      } finally {
        await client.close();
      }
    },
  );
});
