// A process that limits by the Redis of a URL, and tells what one call was answered. For what Node only reads at its start.
import { openRedis } from '../../src/store/redis/redis-client';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from './limiter';

async function answer(url: string): Promise<void> {
  const client = openRedis(url);
  await client.connected(5000);
  const limiter = limiterOver(new RedisStore(client), { timeoutMs: 2000 });
  const { allowed, source } = await limiter.consume('k', { rate: 100 });
  process.send?.({ allowed, source });
  await client.close();
}

void answer(process.argv[2]);
