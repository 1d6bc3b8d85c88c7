// `npm start` as a newcomer runs it: a process that says where it is, answers, and ends when told to.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import {
  freePort,
  sharedRedisUrl,
  uniquePrefix,
} from '../libs/rate-limit/test/support/redis-server';
import { setTimeout as delay } from 'node:timers/promises';
import { RunningCommand } from './support/process';

const BUILD_AND_START_MS = 120_000;

jest.setTimeout(BUILD_AND_START_MS);

describe('npm start', () => {
  const commands: RunningCommand[] = [];
  const sockets: Socket[] = [];

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await Promise.all(commands.splice(0).map((command) => command.stop()));
  });

  function start(
    env: Record<string, string | undefined> = {},
    command: readonly [string, string] = ['npm', 'start'],
  ): RunningCommand {
    const running = new RunningCommand(command[0], [command[1]], {
      REDIS_URL: sharedRedisUrl(),
      KEY_PREFIX: uniquePrefix(),
      PORT: undefined,
      NODE_OPTIONS: undefined,
      ...env,
    });
    commands.push(running);
    return running;
  }

  /** A connection that stays open after its first answer. */
  async function keptAlive(url: string): Promise<void> {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    socket.write('GET /health HTTP/1.1\r\nhost: demo\r\nconnection: keep-alive\r\n\r\n');
    await once(socket, 'data');
  }

  it.each([
    ['Express', undefined],
    ['Fastify', 'fastify'],
  ])('%s: says its address, answers there, and ends within 2 s', async (_, adapter) => {
    const port = await freePort();
    const command = start({ PORT: `${port}`, ADAPTER: adapter });
    const url = await command.address();
    expect(url).toBe(`http://localhost:${port}`);

    const health = await fetch(`http://127.0.0.1:${port}/health`);
    expect(await health.json()).toEqual({ status: 'ok', store: 'redis' });
    expect(command.output.match(/^ {2}.*curl /gm)).toHaveLength(3);
    expect(command.output).toContain('free-key');

    await keptAlive(url);
    const signalled = performance.now();
    await command.end('SIGTERM');
    // npm does not wait for what it runs.
    while (await accepts(port)) await delay(20);
    expect(performance.now() - signalled).toBeLessThan(2000);
  });

  it('takes another port when 3000 is taken', async () => {
    const other = createServer();
    // Somebody else may have it already: that serves as well.
    const taken = await new Promise<boolean>((resolve) => {
      other.once('error', () => resolve(false)).listen(3000, () => resolve(true));
    });
    try {
      const url = await start().address();
      expect(url).not.toBe('http://localhost:3000');
      expect((await fetch(`${url}/health`)).status).toBe(200);
    } finally {
      if (taken) other.close();
    }
  });

  it('without any Redis says in one line what that means', async () => {
    const bare = { REDIS_URL: undefined, REDIS_AUTO_INSTALL: '0', PATH: '/nonexistent' };
    const port = await freePort();
    // What `npm start` runs; without a PATH there is no npm.
    const command = start({ ...bare, PORT: `${port}` }, [process.execPath, 'tools/start.mjs']);
    const url = await command.address();
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok', store: 'memory' });
    expect(command.output).toMatch(/^No REDIS_URL: limits hold for this process alone.*forgotten/m);
  });

  it('refuses a setting that makes no sense, naming it', async () => {
    const command = start({ PORT: 'soon' });
    expect((await command.done()).code).toBe(1);
    expect(command.output).toContain('PORT=soon: give a whole number from 0 to 65535');
  });
});

/** Whether somebody listens there. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    }).once('error', () => resolve(false));
  });
}
