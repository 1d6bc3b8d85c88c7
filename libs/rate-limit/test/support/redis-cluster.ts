// A Redis Cluster of three masters of the test's own, on loopback.
import { Cluster, Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, RedisServer } from './redis-server';

const SLOTS = 16_384;
const MASTERS = 3;
const START_POLLS = 500;

export class RedisCluster {
  private constructor(readonly masters: readonly RedisServer[]) {}

  static async start(): Promise<RedisCluster> {
    const masters: RedisServer[] = [];
    for (let i = 0; i < MASTERS; i++) {
      const busPort = `${await freePort()}`;
      masters.push(await RedisServer.start('--cluster-enabled', 'yes', '--cluster-port', busPort));
    }
    const cluster = new RedisCluster(masters);
    await cluster.#form();
    return cluster;
  }

  /** A client that knows the cluster. Whoever asks for it disconnects it. */
  client(): Cluster {
    return new Cluster(this.masters.map(({ port }) => ({ host: '127.0.0.1', port })));
  }

  /** The slots of all keys, by the cluster's own word. */
  async slots(pattern: string): Promise<Map<number, string[]>> {
    const slots = new Map<number, string[]>();
    await this.#each(async (redis) => {
      for (const key of await redis.keys(pattern)) {
        const slot = await redis.cluster('KEYSLOT', key);
        slots.set(slot, [...(slots.get(slot) ?? []), key]);
      }
    });
    return slots;
  }

  async stop(): Promise<void> {
    await Promise.all(this.masters.map((master) => master.stop()));
  }

  async #form(): Promise<void> {
    const ports = await Promise.all(
      this.masters.map(async ({ port }, i) => {
        const redis = new Redis(port);
        const from = Math.ceil((SLOTS * i) / MASTERS);
        const to = Math.ceil((SLOTS * (i + 1)) / MASTERS) - 1;
        await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
        const [, busPort] = (await redis.config('GET', 'cluster-port')) as string[];
        redis.disconnect();
        return [port, Number(busPort)] as const;
      }),
    );
    await this.#each(async (redis) => {
      for (const [port, busPort] of ports) {
        await redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
      }
    });
    await this.#each(async (redis) => {
      for (let poll = 0; poll < START_POLLS; poll++) {
        const info = (await redis.cluster('INFO')) as string;
        if (info.includes('cluster_state:ok') && info.includes(`cluster_size:${MASTERS}`)) return;
        await delay(20);
      }
      throw new Error('the cluster did not form');
    });
  }

  async #each(ask: (redis: Redis) => Promise<void>): Promise<void> {
    for (const { port } of this.masters) {
      const redis = new Redis(port);
      await ask(redis).finally(() => redis.disconnect());
    }
  }
}
