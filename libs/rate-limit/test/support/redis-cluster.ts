// A Redis Cluster of three masters of the test's own, on loopback; on request with a replica each.
import { Cluster, type ClusterOptions, Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort, RedisServer } from './redis-server';

const SLOTS = 16_384;
const MASTERS = 3;
const POLLS = 1000;
/** A node that does not answer for this long is failed over. */
const NODE_TIMEOUT_MS = 1000;

export class RedisCluster {
  private constructor(
    readonly masters: readonly RedisServer[],
    /** The one of `masters[i]` is `replicas[i]`, until a failover. */
    readonly replicas: readonly RedisServer[],
  ) {}

  static async start({ replicas = false } = {}): Promise<RedisCluster> {
    const nodes: RedisServer[] = [];
    for (let i = 0; i < (replicas ? 2 : 1) * MASTERS; i++) {
      const busPort = `${await freePort()}`;
      nodes.push(
        await RedisServer.start(
          ...['--cluster-enabled', 'yes', '--cluster-port', busPort],
          ...['--cluster-node-timeout', `${NODE_TIMEOUT_MS}`, '--repl-diskless-sync-delay', '0'],
        ),
      );
    }
    const cluster = new RedisCluster(nodes.slice(0, MASTERS), nodes.slice(MASTERS));
    await cluster.#form();
    return cluster;
  }

  get nodes(): RedisServer[] {
    return [...this.masters, ...this.replicas];
  }

  /** A client that knows the cluster. Whoever asks for it disconnects it. */
  client(options?: ClusterOptions): Cluster {
    const nodes = this.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
    // Without a listener ioredis writes failures to the console.
    return new Cluster(nodes, options).on('error', () => undefined);
  }

  /** The slots of all keys, by the cluster's own word. */
  async slots(pattern: string): Promise<Map<number, string[]>> {
    const slots = new Map<number, string[]>();
    await this.each(this.masters, async (redis) => {
      for (const key of await redis.keys(pattern)) {
        const slot = await redis.cluster('KEYSLOT', key);
        slots.set(slot, [...(slots.get(slot) ?? []), key]);
      }
    });
    return slots;
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  /** Asks nodes one after the other, each on a connection of its own. */
  async each<T>(
    nodes: readonly RedisServer[],
    ask: (redis: Redis, node: RedisServer) => Promise<T>,
  ): Promise<T[]> {
    const answers: T[] = [];
    for (const node of nodes) {
      const redis = new Redis(node.port);
      answers.push(await ask(redis, node).finally(() => redis.disconnect()));
    }
    return answers;
  }

  /** Waits until every node sees a cluster that works. */
  async settled(nodes: readonly RedisServer[] = this.nodes): Promise<void> {
    await this.each(nodes, (redis) =>
      until('the cluster did not settle', async () => {
        const info = (await redis.cluster('INFO')) as string;
        return info.includes('cluster_state:ok') && info.includes(`cluster_size:${MASTERS}`);
      }),
    );
  }

  /** Makes `replicas[i]` the master in place of `masters[i]`, which lives on as its replica. */
  async failover(i: number): Promise<void> {
    await this.each([this.replicas[i]], (redis) =>
      until('the replica did not take over', async () => {
        if (await isMaster(redis)) return true;
        // Refused by the others while they are still settling; ends by itself after five seconds.
        await redis.call('CLUSTER', 'FAILOVER');
        for (let poll = 0; poll < 50 && !(await isMaster(redis)); poll++) await delay(20);
        return isMaster(redis);
      }),
    );
  }

  /** Kills `masters[i]` and waits until its replica has taken over. */
  async killMaster(i: number): Promise<void> {
    await this.masters[i].kill();
    await this.each([this.replicas[i]], (redis) =>
      until('the replica did not take over', () => isMaster(redis)),
    );
  }

  async #form(): Promise<void> {
    const ports = await this.each(this.nodes, async (redis, { port }) => {
      const master = this.masters.findIndex((each) => each.port === port);
      if (master >= 0) {
        const from = Math.ceil((SLOTS * master) / MASTERS);
        const to = Math.ceil((SLOTS * (master + 1)) / MASTERS) - 1;
        await redis.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
      }
      const [, busPort] = (await redis.config('GET', 'cluster-port')) as string[];
      return [port, Number(busPort)] as const;
    });
    const ids = await this.each(this.nodes, async (redis) => {
      for (const [port, busPort] of ports) {
        await redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort);
      }
      return (await redis.cluster('MYID')) as string;
    });
    await this.settled(this.masters);
    await this.each(this.replicas, async (redis, { port }) => {
      const id = ids[this.replicas.findIndex((each) => each.port === port)];
      await until('a replica did not find its master', () =>
        redis.call('CLUSTER', 'REPLICATE', id).then(
          () => true,
          () => false,
        ),
      );
      await until('a replica did not follow its master', async () =>
        (await redis.info('replication')).includes('master_link_status:up'),
      );
    });
    await this.settled();
  }
}

async function isMaster(redis: Redis): Promise<boolean> {
  return (await redis.info('replication')).includes('role:master');
}

/** Asks again and again. @throws Error with `otherwise` when it takes more than twenty seconds */
export async function until(otherwise: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let poll = 0; poll < POLLS; poll++) {
    if (await isSo()) return;
    await delay(20);
  }
  throw new Error(otherwise);
}
