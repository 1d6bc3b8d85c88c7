// A process that consumes at once as often as it is told, and says how often it was allowed.
import { Redis } from 'ioredis';
import { RedisStore } from '../../src/store/redis/redis-store';
import { limiterOver } from './limiter';

const [url, keyPrefix, calls] = process.argv.slice(2);

async function main(): Promise<void> {
  const client = new Redis(url);
  const limiter = limiterOver(new RedisStore(client), { keyPrefix, timeoutMs: 20_000 });
  await client.ping();
  process.send?.('ready');
  process.once('message', () => {
    const limit = { rate: 1e-6, capacity: 100 };
    void Promise.all(
      Array.from({ length: Number(calls) }, () => limiter.consume('crowd', limit)),
    ).then((decisions) => {
      process.send?.({ allowed: decisions.filter(({ allowed }) => allowed).length }, () => {
        client.disconnect();
        process.disconnect();
      });
    });
  });
}

void main();
