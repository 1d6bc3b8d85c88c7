// How `npm test` gets its Redis, from the outside: the scripts run as processes with a PATH of our making.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const testScript = join(__dirname, '../test.mjs');
let bin: string;

beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'bin-'));
});
afterEach(() => rmSync(bin, { recursive: true }));

function run(script: string, env: NodeJS.ProcessEnv) {
  const args = [script, '--version'];
  return spawnSync(process.execPath, args, { env, encoding: 'utf8', timeout: 60_000 });
}

function serverBinary(): string {
  const found = spawnSync('sh', ['-c', 'command -v redis-server || command -v valkey-server'], {
    encoding: 'utf8',
  });
  return found.stdout.trim();
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  const connected = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return connected;
}

it('without any Redis the tests fail and say what to do; nothing is installed when that is forbidden', () => {
  const { status, stderr } = run(testScript, { PATH: bin, REDIS_AUTO_INSTALL: '0' });
  expect(status).toBe(1);
  expect(stderr).toContain('No Redis found. One of these helps:');
});

it('a REDIS_URL where nothing answers fails before any test runs', () => {
  const { status, stderr } = run(testScript, { REDIS_URL: 'redis://127.0.0.1:1' });
  expect(status).toBe(1);
  expect(stderr).toContain('REDIS_URL=redis://127.0.0.1:1: nothing there answers PING.');
});

it('a valkey-server on the PATH will do', () => {
  symlinkSync(serverBinary(), join(bin, 'valkey-server'));
  const { status, stdout } = run(testScript, { PATH: bin, REDIS_AUTO_INSTALL: '0' });
  expect(status).toBe(0);
  expect(stdout).toContain(`(${join(bin, 'valkey-server')})`);
});

it('a server that cannot start is named, with its last words', () => {
  const { status, stderr } = run(testScript, {
    REDIS_SERVER_BIN: '/nowhere/redis-server',
    PATH: bin,
  });
  expect(status).toBe(1);
  expect(stderr).toContain('Redis: /nowhere/redis-server did not start: ');
  expect(stderr).toContain('not found');
});

it('a private server ends with its owner, even when that is killed', async () => {
  const module = join(__dirname, 'private-server.mjs');
  const script = `
    const { startPrivateServer } = await import(${JSON.stringify(module)});
    const url = await startPrivateServer((port) => [${JSON.stringify(serverBinary())}, '--port', String(port), '--save', '']);
    console.log(new URL(url).port);
    setInterval(() => {}, 1000);`;
  const owner = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { PATH: [bin, process.env.PATH].join(delimiter) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output] = (await once(owner.stdout, 'data')) as [Buffer];
  const port = Number(output.toString());
  expect(await isListening(port)).toBe(true);
  owner.kill('SIGKILL');
  for (let poll = 0; poll < 100 && (await isListening(port)); poll += 1) await delay(20);
  expect(await isListening(port)).toBe(false);
});
