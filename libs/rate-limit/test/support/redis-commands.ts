// What a Redis did: its own statistics, and what MONITOR shows.
import type { Redis } from 'ioredis';
import { setTimeout as delay } from 'node:timers/promises';

/** How often each command ran since the last `forgetCommands`; those inside scripts count too. */
export async function commandCounts(redis: Redis): Promise<Record<string, number>> {
  const info = await redis.info('commandstats');
  const counts = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
    ([, command, calls]) => [command, Number(calls)] as const,
  );
  const ours = ['info', 'config|resetstat', 'client|setinfo', 'hello'];
  return Object.fromEntries(counts.filter(([command]) => !ours.includes(command)));
}

export async function forgetCommands(redis: Redis): Promise<void> {
  await redis.config('RESETSTAT');
}

/** Every key under a prefix, with its remaining life in ms. */
export async function keyLives(redis: Redis, prefix: string): Promise<Map<string, number>> {
  const lives = new Map<string, number>();
  for (const key of await redis.keys(`${prefix}*`)) lives.set(key, await redis.pttl(key));
  return lives;
}

/** What a server did while it was watched. */
export class KeyWatch {
  /** Keys that scripts touched without having been given them. */
  readonly undeclared: string[] = [];
  /** How many keys scripts touched. */
  touched = 0;
  #declared: string[] = [];

  /** Watches a server while `run` runs, and until all that it did has been told. */
  static async over(redis: Redis, run: () => Promise<unknown>): Promise<KeyWatch> {
    const watch = new KeyWatch();
    const watcher = redis.duplicate();
    const monitor = await watcher.monitor();
    let isOver = false;
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      if (args[0] === 'echo' && args[1] === 'over') isOver = true;
      watch.#note(args, source === 'lua');
    });
    await run();
    // What the monitor tells comes on a connection of its own, a little later.
    await redis.echo('over');
    for (let tries = 0; !isOver && tries < 200; tries++) await delay(10);
    monitor.disconnect();
    watcher.disconnect();
    return watch;
  }

  #note(args: readonly string[], inside: boolean): void {
    const command = args[0].toLowerCase();
    if (!inside) {
      this.#declared = command.startsWith('eval') ? args.slice(3, 3 + Number(args[2])) : [];
    } else if (command !== 'time') {
      const keys = command === 'mget' ? args.slice(1) : [args[1]];
      this.touched += keys.length;
      this.undeclared.push(...keys.filter((key) => !this.#declared.includes(key)));
    }
  }
}
