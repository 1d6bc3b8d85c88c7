// A Redis that only talks TLS, with a certificate authority of its own: by options and by URL, and never without it.
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RateLimiterService, RateLimitModule, type RateLimitModuleOptions } from '../../src';
import { buildApp, closeApps } from '../support/nest-app';
import { freePort, RedisServer } from '../support/redis-server';

const directory = mkdtempSync(join(tmpdir(), 'redis-tls-'));
const file = (name: string) => join(directory, name);

let server: RedisServer;
let port: number;

/** A certificate authority, and what it signed for `localhost` and for a client. */
function makeCertificates(): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2'];
  openssl(
    ...['req', '-x509', ...key, '-subj', '/CN=Test CA'],
    ...['-keyout', file('ca.key'), '-out', file('ca.crt')],
  );
  for (const name of ['server', 'client']) {
    openssl(
      ...[
        'req',
        '-x509',
        ...key,
        '-subj',
        '/CN=localhost',
        '-addext',
        'subjectAltName=DNS:localhost',
      ],
      ...['-CA', file('ca.crt'), '-CAkey', file('ca.key')],
      ...['-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)],
    );
  }
}

beforeAll(async () => {
  jest.spyOn(Logger.prototype, 'error').mockImplementation();
  makeCertificates();
  port = await freePort();
  server = await RedisServer.start(
    ...['--tls-port', `${port}`, '--tls-auth-clients', 'optional'],
    ...['--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')],
    ...['--tls-ca-cert-file', file('ca.crt')],
  );
}, 30_000);
afterEach(closeApps);
afterAll(async () => {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
  jest.restoreAllMocks();
});

const ca = () => readFileSync(file('ca.crt'));

async function decision(redis: RateLimitModuleOptions['redis']) {
  const nest = await buildApp({
    imports: [RateLimitModule.forRoot({ redis, storeTimeoutMs: 2000, onStoreFailure: 'closed' })],
  });
  return nest.get(RateLimiterService).consume('k', { rate: 100 });
}

it('by options, with its authority', async () => {
  expect(await decision({ host: 'localhost', port, tls: { ca: ca() } })).toMatchObject({
    source: 'shared',
  });
});

it('with a certificate of the client, where the server asks for one', async () => {
  const admin = new Redis(server.port);
  await admin.config('SET', 'tls-auth-clients', 'yes');
  const tls = {
    ca: ca(),
    cert: readFileSync(file('client.crt')),
    key: readFileSync(file('client.key')),
  };
  expect(await decision({ host: 'localhost', port, tls })).toMatchObject({ source: 'shared' });
  await admin.config('SET', 'tls-auth-clients', 'optional');
  admin.disconnect();
});

it('refuses what it cannot trust, and a server that wants TLS, and says why', async () => {
  const refused = [
    `rediss://localhost:${port}`,
    { host: '127.0.0.1', port, tls: { ca: ca() } },
    `redis://localhost:${port}`,
  ];
  const errors = await Promise.all(
    refused.map((redis) => decision(redis).catch((thrown: unknown) => thrown)),
  );
  // A certificate may be renewed while we run, so it is the failure policy's business.
  for (const error of errors) expect(error).toMatchObject({ name: 'StoreUnavailableError' });
  const lines = jest.mocked(Logger.prototype.error).mock.calls.map(([line]) => String(line));
  const reasons = [
    /self-signed certificate in certificate chain/,
    /does not match/,
    /ECONNRESET|closed/,
  ];
  for (const reason of reasons) expect(lines.filter((line) => reason.test(line))).not.toEqual([]);
}, 20_000);

it('by a URL, where Node knows the authority', async () => {
  const caller = fork(
    join(__dirname, '../support/tls-caller-process.ts'),
    [`rediss://localhost:${port}`],
    {
      execArgv: ['-r', join(__dirname, '../support/queue-ts-hook.cjs')],
      env: { ...process.env, NODE_EXTRA_CA_CERTS: file('ca.crt') },
    },
  );
  const [said] = (await once(caller, 'message')) as [unknown];
  caller.kill();
  expect(said).toEqual({ allowed: true, source: 'shared' });
}, 20_000);
