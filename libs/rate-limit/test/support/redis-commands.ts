// What a Redis did: its own statistics, and what MONITOR shows.
import type { Redis } from 'ioredis';

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
