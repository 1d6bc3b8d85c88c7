import { systemClock } from '../../core/clock';
import { StoreConfigurationError, StoreUnavailableError } from '../../core/errors';
import { parseLimit } from '../../core/limit';
import type { BucketCharge } from '../rate-limit-store';
import * as scripts from './lua.generated';
import { RedisStore } from './redis-store';

const limit = parseLimit({ rate: 10, capacity: 20 }, 'test');
const charge: BucketCharge = {
  bucket: 'rl:{x}:b',
  place: 'b',
  configuration: 'rl:{x}!b',
  limit,
  price: 100_000,
  maxWaitUs: 0,
};
const SERVER_MS = 1_000_000_000_000;
const GIVE_UP_AT = 4;

let nowMs: number;
beforeEach(() => {
  nowMs = 5000;
  jest.spyOn(systemClock, 'monotonicMs').mockImplementation(() => nowMs);
  jest.spyOn(systemClock, 'nowMs').mockImplementation(() => SERVER_MS + nowMs);
});
afterEach(() => jest.restoreAllMocks());

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** A client that gives these answers, one a call, each after some ms. */
function clientOf(...answers: (() => unknown)[]) {
  const calls: unknown[][] = [];
  const answer = async (...args: unknown[]) => {
    calls.push(args);
    await Promise.resolve();
    return (answers.shift() as () => unknown)();
  };
  return { calls, client: { evalsha: answer, eval: answer, del: answer } };
}

const serverUs = (ms = nowMs) => (SERVER_MS + ms) * 1000;
const charged = () => [serverUs(), 2_000_000];
const gaveUp = () => [serverUs()];

describe('RedisStore', () => {
  it('is one EVALSHA with every bucket in KEYS, and numbers only', async () => {
    const { calls, client } = clientOf(() => [serverUs(0), 2_000_000, 1_900_000]);
    const other = { ...charge, bucket: 'rl:{x}:c', configuration: 'rl:{x}!c', maxWaitUs: 5000 };
    const outcomes = await new RedisStore(client).take([charge, other]);
    const numbers = [1, 100, 2_000_000, limit.fingerprint, 100_000];
    const keys = ['rl:{x}:b', 'rl:{x}:c', 'rl:{x}!b', 'rl:{x}!c'];
    expect(calls).toEqual([
      [scripts.take.sha1, 4, ...keys, '', '', ...numbers, 0, ...numbers, 5000],
    ]);
    expect(outcomes).toEqual([
      { granted: true, waitUs: 0, credits: 1_900_000, fullInUs: 100_000 },
      {
        granted: true,
        waitUs: 0,
        credits: 1_800_000,
        fullInUs: 200_000,
        startsAtUs: serverUs(0),
      },
    ]);
  });

  it('reads replies of clients that hand numbers over as text', async () => {
    const { client } = clientOf(() => [`${serverUs(0)}`, '50000', '1', '7000']);
    expect(await new RedisStore(client).take([charge])).toEqual([
      { granted: false, waitUs: 57_000, credits: 50_000, fullInUs: 1_957_000 },
    ]);
  });

  it('sends the script whole where the server does not know it, once', async () => {
    const unknown = () => {
      throw replyError('NOSCRIPT No matching script. Please use EVAL.');
    };
    const { calls, client } = clientOf(unknown, charged);
    await new RedisStore(client).take([charge]);
    expect(calls.map(([script]) => script)).toEqual([scripts.take.sha1, scripts.take.lua]);
    expect(calls[1].slice(1)).toEqual(calls[0].slice(1));
    const twice = clientOf(unknown, unknown);
    await expect(new RedisStore(twice.client).take([charge])).rejects.toThrow(
      StoreConfigurationError,
    );
    expect(twice.calls.length).toBe(2);
  });

  it('repeats nothing else: a lost answer may have been a charge', async () => {
    const { calls, client } = clientOf(() => {
      throw new Error('Connection is closed.');
    });
    const store = new RedisStore(client);
    await expect(store.take([charge])).rejects.toThrow(StoreUnavailableError);
    expect(calls.length).toBe(1);
  });

  it('forgets buckets with one DEL each, since they may be in different slots', async () => {
    const { calls, client } = clientOf(
      () => 1,
      () => 0,
    );
    await new RedisStore(client).reset(['a', 'b']);
    expect(calls).toEqual([['a'], ['b']]);
  });
});

describe('RedisStore that gives up', () => {
  // The server gives up a tenth earlier than the caller: after 225 ms.
  const giveUp = { giveUpAfterMs: 250 };

  it('tells the server until when anybody waits, from the first call on', async () => {
    const { calls, client } = clientOf(charged);
    await new RedisStore(client, giveUp).take([charge]);
    expect(calls[0][GIVE_UP_AT]).toBe(SERVER_MS + nowMs + 225);
  });

  it('asks again when it was wrong about the clock of the server, and is right then', async () => {
    const { calls, client } = clientOf(
      () => [serverUs(60_000 + (nowMs += 4))],
      () => [serverUs(60_000 + (nowMs += 4)), 2_000_000],
    );
    const started = nowMs;
    const [outcome] = await new RedisStore(client, giveUp).take([charge]);
    expect(outcome.granted).toBe(true);
    const right = SERVER_MS + 60_000 + started + 225;
    expect(calls[1][GIVE_UP_AT]).toBeGreaterThanOrEqual(right - 4);
    expect(calls[1][GIVE_UP_AT]).toBeLessThanOrEqual(right + 1);
  });

  it('never asks again once the time is over: whoever asked has been answered', async () => {
    const { calls, client } = clientOf(() => {
      nowMs += 250;
      return gaveUp();
    });
    await expect(new RedisStore(client, giveUp).take([charge])).rejects.toThrow(
      'Redis answered after the deadline; nothing was charged',
    );
    expect(calls.length).toBe(1);
  });

  it('asks at most twice', async () => {
    const { calls, client } = clientOf(gaveUp, gaveUp);
    await expect(new RedisStore(client, giveUp).take([charge])).rejects.toThrow(
      StoreUnavailableError,
    );
    expect(calls.length).toBe(2);
  });

  it('measures the time from the start of the call, not from the second question', async () => {
    const { calls, client } = clientOf(() => {
      nowMs += 200;
      return gaveUp();
    }, charged);
    const started = nowMs;
    await new RedisStore(client, giveUp).take([charge]);
    expect(calls[1][GIVE_UP_AT]).toBe(SERVER_MS + started + 225);
  });
});
