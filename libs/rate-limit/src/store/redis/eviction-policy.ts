// How a Redis makes room when it is full. By INFO, which every user has; CONFIG is often forbidden.
import type { RedisLike } from '../redis-like';

/** The start waits no longer for it. */
const PATIENCE_MS = 500;
const POLICY = /^maxmemory_policy:(\S+)/m;

interface Connected extends RedisLike {
  readonly status?: string;
  /** Of a cluster. */
  nodes?(role: 'master'): readonly RedisLike[];
  once?(event: 'ready', listener: () => void): unknown;
  removeListener?(event: 'ready', listener: () => void): unknown;
}

/** The policy; of a cluster one that evicts, if a node has one. `undefined` where nobody says, or not soon. Never fails. */
export async function evictionPolicy(client: RedisLike): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS).unref();
  });
  try {
    await readyOr(client, patience);
    return await Promise.race([asked(client), patience.then(() => undefined)]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** A client that is about to be connected may refuse commands until it is. */
async function readyOr(client: Connected, patience: Promise<void>): Promise<void> {
  if (client.status !== 'connecting' && client.status !== 'connect') return;
  let ready!: () => void;
  const isReady = new Promise<void>((resolve) => (ready = resolve));
  client.once?.('ready', ready);
  await Promise.race([isReady, patience]);
  client.removeListener?.('ready', ready);
}

async function asked(client: Connected): Promise<string | undefined> {
  // A client that connects at its first command is left to do so then.
  if (client.status !== undefined && client.status !== 'ready') return undefined;
  const nodes = client.nodes?.('master') ?? [client];
  const texts = await Promise.all(nodes.map(async (node) => String(await node.info?.('memory'))));
  const policies = texts.flatMap((text) => POLICY.exec(text)?.[1] ?? []);
  return policies.find((policy) => policy !== 'noeviction') ?? policies[0];
}
