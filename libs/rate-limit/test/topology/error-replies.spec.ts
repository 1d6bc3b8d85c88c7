// What real servers reply when they cannot serve, or will not: an outage for the failure policy, or a loud refusal. NOAUTH
// and WRONGPASS: refused-clients.spec.ts; NOPERM: integration/rights.spec.ts; TRYAGAIN, ASK, MOVED: cluster-failover.spec.ts.
import { Redis } from 'ioredis';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreConfigurationError, StoreUnavailableError } from '../../src/core/errors';
import { parseLimit } from '../../src/core/limit';
import { RedisStore } from '../../src/store/redis/redis-store';
import { until } from '../support/redis-cluster';
import { RedisServer } from '../support/redis-server';

const LIMIT = parseLimit({ rate: 1, capacity: 100 }, 'test');
const charge = (bucket = 'b') => ({
  bucket,
  place: 'p',
  limit: LIMIT,
  price: LIMIT.q * 1000,
  maxWaitUs: 0,
});

let servers: RedisServer[] = [];
let clients: Redis[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function started(...args: string[]): Promise<RedisServer> {
  const server = await RedisServer.start(...args);
  servers.push(server);
  return server;
}

/** Sees what a server replies, also while it is loading. */
function clientOf({ port }: RedisServer): Redis {
  const client = new Redis(port, { enableReadyCheck: false, maxRetriesPerRequest: 0 });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

/** A charge is refused with this word, and taken for an outage. */
async function expectOut(client: Redis, word: string): Promise<void> {
  const error = await new RedisStore(client).take([charge()]).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(String(error)).toContain(word);
}

async function expectServed(client: Redis): Promise<void> {
  expect(await new RedisStore(client).take([charge()])).toMatchObject([{ granted: true }]);
}

it('READONLY: a replica', async () => {
  const primary = await started();
  const client = clientOf(await started('--replicaof', `127.0.0.1 ${primary.port}`));
  await expectOut(client, 'READONLY');
  await client.replicaof('NO', 'ONE');
  await expectServed(client);
});

it('MASTERDOWN: a replica that serves nothing stale', async () => {
  const primary = await started();
  const client = clientOf(
    await started('--replicaof', `127.0.0.1 ${primary.port}`, '--replica-read-only', 'no'),
  );
  await client.config('SET', 'replica-serve-stale-data', 'no');
  await primary.kill();
  await until('the replica did not notice', async () =>
    (await client.info('replication')).includes('master_link_status:down'),
  );
  await expectOut(client, 'MASTERDOWN');
});

it('NOREPLICAS: fewer replicas than it wants', async () => {
  const client = clientOf(await started('--min-replicas-to-write', '1'));
  await expectOut(client, 'NOREPLICAS');
  await client.config('SET', 'min-replicas-to-write', '0');
  await expectServed(client);
});

it('OOM: no memory left', async () => {
  const client = clientOf(await started('--maxmemory', '1'));
  await expectOut(client, 'OOM');
  await client.config('SET', 'maxmemory', '0');
  await expectServed(client);
});

it('MISCONF: it could not save, and writes nothing any more', async () => {
  const client = clientOf(await started());
  const [, directory] = (await client.config('GET', 'dir')) as string[];
  // Nothing can be written where a folder is.
  mkdirSync(join(directory, 'dump.rdb'));
  await client.config('SET', 'save', '3600 1000000');
  await client.bgsave();
  await until('the save did not fail', async () =>
    (await client.info('persistence')).includes('rdb_last_bgsave_status:err'),
  );
  await expectOut(client, 'MISCONF');
  // Else it would not end either.
  await client.config('SET', 'save', '');
  await expectServed(client);
});

it('BUSY: a script of somebody else that does not end', async () => {
  const server = await started('--lua-time-limit', '50');
  const client = clientOf(server);
  await expectServed(client);
  const other = clientOf(server);
  const endless = other.eval('while true do end', 0).catch(() => undefined);
  await delay(200);
  await expectOut(client, 'BUSY');
  await client.script('KILL');
  await endless;
  await expectServed(client);
});

it('LOADING: it has just started', async () => {
  const server = await started();
  const client = clientOf(server);
  const many = Array.from({ length: 3000 }, (_, i) => [`key ${i}`, 'x'.repeat(1000)]).flat();
  await client.mset(...many);
  await client.save();
  await server.kill();
  const slowly = ['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024'];
  const restarted = server.restart(...slowly);
  await until('it did not load', async () => {
    const reply = await clientOf(server)
      .get('x')
      .catch((error: Error) => error.message);
    return String(reply).startsWith('LOADING');
  });
  await expectOut(clientOf(server), 'LOADING');
  await restarted;
  await expectServed(clientOf(server));
}, 20_000);

it('CLUSTERDOWN: a node whose slots nobody serves', async () => {
  const client = clientOf(await started('--cluster-enabled', 'yes'));
  await expectOut(client, 'CLUSTERDOWN');
});

it('max number of clients reached', async () => {
  const server = await started('--maxclients', '1');
  await expectServed(clientOf(server));
  const second = clientOf(server);
  const error = await new RedisStore(second).take([charge()]).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StoreUnavailableError);
});

it('WRONGTYPE is a refusal: a key of somebody else', async () => {
  const client = clientOf(await started());
  await client.set('slots', 'not ours');
  const store = new RedisStore(client);
  const held = store.leases.hold({ slots: 'slots', id: 'a', max: 1, leaseMs: 1000 });
  await expect(held).rejects.toThrow(StoreConfigurationError);
  await expect(held).rejects.toThrow('WRONGTYPE');
});

it('CROSSSLOT is a refusal where the client does not say that it is a cluster', async () => {
  const client = clientOf(await started('--cluster-enabled', 'yes'));
  await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  await until('no cluster', async () =>
    String(await client.cluster('INFO')).includes('cluster_state:ok'),
  );
  const take = new RedisStore(client).take([charge('a'), charge('b')]);
  await expect(take).rejects.toThrow(StoreConfigurationError);
});
