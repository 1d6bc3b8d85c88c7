// The contract on Valkey, where the machine has one; the other specs run on the first server that is found.
import { Redis } from 'ioredis';
import { redisStoreOn, storeContract } from '../../src/testing';
import { onPath, RedisServer } from '../support/redis-server';

const valkey = onPath('valkey-server');

if (valkey === undefined) {
  it('there is no valkey-server on the PATH: the contract was shown on the other server alone', () => {
    expect(onPath('redis-server') ?? process.env.REDIS_SERVER_BIN).toBeDefined();
  });
} else {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await RedisServer.startBinary(valkey);
    redis = new Redis(server.port);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  storeContract('valkey', (clock) => redisStoreOn(clock, redis));
}
