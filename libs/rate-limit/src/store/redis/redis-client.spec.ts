import { EventEmitter } from 'node:events';
import { StoreConfigurationError, StoreUnavailableError } from '../../core/errors';
import { OwnRedis, openRedis } from './redis-client';

class ReplyError extends Error {
  override name = 'ReplyError';
}

/** As much of an ioredis client as a connection's life needs. */
class FakeClient extends EventEmitter {
  status = 'connecting';
  evalsha = jest.fn(async () => [1]);
  eval = jest.fn(async () => [1]);
  del = jest.fn(async () => 1);
  quit = jest.fn(async () => this.#end());
  disconnect = jest.fn(() => this.#end());

  ready() {
    this.status = 'ready';
    this.emit('ready');
  }
  #end() {
    this.status = 'end';
    setImmediate(() => this.emit('end'));
  }
}

function own() {
  const client = new FakeClient();
  return { client, redis: new OwnRedis(client) };
}

describe('OwnRedis', () => {
  it('hands commands on', async () => {
    const { client, redis } = own();
    client.ready();
    expect(await redis.evalsha('sha', 1, 'k', 2)).toEqual([1]);
    expect(client.evalsha).toHaveBeenCalledWith('sha', 1, 'k', 2);
    expect(await redis.del('k')).toBe(1);
  });

  it('a refused login is a configuration error until a connection is ready without one', async () => {
    const { client, redis } = own();
    client.emit('connect');
    client.emit('error', new ReplyError('WRONGPASS invalid username-password pair'));
    await expect(redis.evalsha('sha', 0)).rejects.toThrow(StoreConfigurationError);
    await expect(redis.eval('lua', 0)).rejects.toThrow('WRONGPASS');
    expect(client.evalsha).not.toHaveBeenCalled();
    client.emit('connect');
    await expect(redis.del('k')).rejects.toThrow(StoreConfigurationError);
    client.ready();
    expect(await redis.del('k')).toBe(1);
  });

  it('a refused database number stays refused although the connection gets ready', async () => {
    const { client, redis } = own();
    client.emit('connect');
    client.emit('error', new ReplyError('ERR DB index is out of range'));
    client.ready();
    await expect(redis.del('k')).rejects.toThrow('DB index is out of range');
  });

  it('an outage is none of that', async () => {
    const { client, redis } = own();
    client.emit('error', Object.assign(new Error(''), { code: 'ECONNREFUSED' }));
    const refused = redis.del('k');
    await expect(refused).rejects.toThrow(StoreUnavailableError);
    await expect(refused).rejects.toThrow('Redis is out: no connection: ECONNREFUSED');
    client.emit('error', new ReplyError('LOADING Redis is loading the dataset in memory'));
    client.ready();
    expect(await redis.del('k')).toBe(1);
  });

  it('waits for the connection, but not for ever', async () => {
    const { client, redis } = own();
    const waiting = redis.connected(60_000);
    client.ready();
    expect(await waiting).toBeUndefined();
    expect(await redis.connected(60_000)).toBeUndefined();
    const refused = own();
    const asking = refused.redis.connected(60_000);
    refused.client.emit('error', new ReplyError('NOAUTH Authentication required.'));
    expect(await asking).toBeInstanceOf(StoreConfigurationError);
    expect(await own().redis.connected(1)).toEqual(new Error('no connection within 1 ms'));
    const away = own();
    const trying = away.redis.connected(1);
    away.client.emit('error', new Error('connect ECONNREFUSED'));
    expect(await trying).toMatchObject({ message: 'connect ECONNREFUSED' });
    const nobody = own();
    const knocking = nobody.redis.connected(60_000);
    nobody.client.emit('error', Object.assign(new Error(''), { code: 'ECONNREFUSED' }));
    expect(await knocking).toEqual(new Error('ECONNREFUSED'));
  });

  it('ends once: politely when connected, at once when not', async () => {
    const { client, redis } = own();
    client.ready();
    await Promise.all([redis.close(), redis.close()]);
    expect(client.quit).toHaveBeenCalledTimes(1);
    expect(client.disconnect).not.toHaveBeenCalled();
    const away = own();
    await away.redis.close();
    expect(away.client.quit).not.toHaveBeenCalled();
    expect(away.client.disconnect).toHaveBeenCalledTimes(1);
  });

  it('ends between two attempts to connect, where the client tells no end', async () => {
    const { client, redis } = own();
    client.status = 'reconnecting';
    client.disconnect.mockImplementation(() => undefined);
    await redis.close();
    expect(client.disconnect).toHaveBeenCalledTimes(1);
  });

  it('ends although the server does not answer', async () => {
    const { client, redis } = own();
    client.ready();
    client.quit.mockImplementation(() => {
      // As ioredis: what is not answered is rejected when the connection goes.
      return new Promise((_, reject) => client.once('end', () => reject(new Error('closed'))));
    });
    await redis.close();
    expect(client.disconnect).toHaveBeenCalled();
  });
});

describe('openRedis', () => {
  afterEach(() => jest.resetModules());

  it('says what to install when ioredis is missing', () => {
    jest.doMock('ioredis', () => {
      throw Object.assign(new Error("Cannot find module 'ioredis'"), { code: 'MODULE_NOT_FOUND' });
    });
    expect(() => openRedis('redis://127.0.0.1')).toThrow(StoreConfigurationError);
    expect(() => openRedis('redis://127.0.0.1')).toThrow('npm install ioredis');
    jest.dontMock('ioredis');
  });

  it('sets what nobody may change before, and what may be changed after the connection', () => {
    const Redis = jest.fn(() => new FakeClient());
    jest.doMock('ioredis', () => ({ Redis }));
    openRedis({ host: 'h', enableOfflineQueue: true, connectTimeout: 9 });
    const [[forced, connection, defaults]] = Redis.mock.calls as unknown as [object[]];
    expect(forced).toEqual({
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      lazyConnect: false,
    });
    expect(connection).toEqual({ host: 'h', enableOfflineQueue: true, connectTimeout: 9 });
    const { retryStrategy, reconnectOnError } = defaults as {
      retryStrategy: (times: number) => number;
      reconnectOnError: (error: Error) => boolean;
    };
    expect([1, 2, 5, 6, 1000, 5000].map(retryStrategy)).toEqual([50, 100, 800, 1000, 1000, 1000]);
    expect(reconnectOnError(new Error("READONLY You can't write"))).toBe(true);
    expect(reconnectOnError(new Error('ERR no'))).toBe(false);
    jest.dontMock('ioredis');
  });
});
