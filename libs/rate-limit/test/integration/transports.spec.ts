// The guard and the two kinds of time: at once where it can, later where it must; and transports it does not know.
import { Controller, Get, Logger, UseGuards } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host';
import {
  type KeyResolver,
  RateLimit,
  RateLimitExceededException,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nest-rate-limit';
import { buildApp, closeApps } from '../support/nest-app';

@Controller()
class Routes {
  @Get()
  @UseGuards(RateLimitGuard)
  @RateLimit(0.001, 2)
  get() {
    return 'ok';
  }
}

function response() {
  const headers: Record<string, string> = {};
  return {
    headers,
    headersSent: false,
    header: (name: string, value: string) => (headers[name] = value),
  };
}

function contextOf(type: string, handler: () => unknown = Routes.prototype.get) {
  const request = { ip: '192.0.2.1', headers: {} };
  const context = new ExecutionContextHost([request, response()], Routes, handler);
  context.setType(type);
  return context;
}

async function guardOf(options: RateLimitModuleOptions = {}) {
  const nest = await buildApp({
    imports: [RateLimitModule.forRoot(options)],
    controllers: [Routes],
  });
  return nest.get(RateLimitGuard);
}

afterEach(async () => {
  jest.restoreAllMocks();
  await closeApps();
});

describe('an answer at once', () => {
  it('without a promise when store, key, tier and cost are at hand', async () => {
    const guard = await guardOf();
    expect(guard.canActivate(contextOf('http'))).toBe(true);
    expect(guard.canActivate(contextOf('http'))).toBe(true);
    expect(() => guard.canActivate(contextOf('http'))).toThrow(RateLimitExceededException);
  });

  it('by a promise when one of them is not', async () => {
    const key: KeyResolver = async ({ ip }) => ip;
    const guard = await guardOf({ key });
    const answers = [1, 2, 3].map(() => guard.canActivate(contextOf('http')));
    expect(answers.every((answer) => answer instanceof Promise)).toBe(true);
    const settled = await Promise.allSettled(answers.map(async (answer) => answer));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });
});

describe('an answer that was sent', () => {
  it('gets no header more, in the words of either framework', async () => {
    const guard = await guardOf();
    const header = jest.fn();
    const sent = [
      { headersSent: true, header },
      { raw: { headersSent: true }, header },
    ];
    for (const answer of sent) {
      const request = { ip: '192.0.2.1', headers: {} };
      const context = new ExecutionContextHost([request, answer], Routes, Routes.prototype.get);
      expect(guard.canActivate(context)).toBe(true);
    }
    expect(header).not.toHaveBeenCalled();
  });
});

describe('once an invocation', () => {
  it('is by the context, not by the request: two contexts of one request are two', async () => {
    const guard = await guardOf();
    const first = contextOf('http');
    expect(guard.canActivate(first)).toBe(true);
    expect(guard.canActivate(first)).toBe(true);
    const second = new ExecutionContextHost(first.getArgs(), Routes, Routes.prototype.get);
    expect(guard.canActivate(second)).toBe(true);
    const third = new ExecutionContextHost(first.getArgs(), Routes, Routes.prototype.get);
    expect(() => guard.canActivate(third)).toThrow(RateLimitExceededException);
  });
});

describe('a transport that is not known', () => {
  it('passes, with one warning a transport', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const guard = await guardOf();
    for (const type of ['telegraf', 'telegraf', 'cli', 'telegraf', 'telegraf']) {
      expect(guard.canActivate(contextOf(type))).toBe(true);
    }
    expect(warn.mock.calls.map(([message]) => message as string)).toEqual(
      ['telegraf', 'cli'].map(
        (type) =>
          `calls of transport "${type}" are not limited: known are http, graphql, ws, rpc; ask RateLimiterService there`,
      ),
    );
  });
});

describe('a handler that the start did not find', () => {
  it('gets the module’s own limit, in a scope of class and method', async () => {
    const guard = await guardOf({ limit: { rate: 0.001, capacity: 1 } });
    const late = function late() {
      return 'ok';
    };
    expect(guard.canActivate(contextOf('http', late))).toBe(true);
    expect(() => guard.canActivate(contextOf('http', late))).toThrow(RateLimitExceededException);
  });
});

describe('key resolvers', () => {
  it('that several limits name are asked once a call', async () => {
    const key = jest.fn<Promise<string>, []>().mockResolvedValue('k');
    const guard = await guardOf({ key, always: { name: 'ip', rate: 1, capacity: 5 } });
    expect(await guard.canActivate(contextOf('http'))).toBe(true);
    expect(key).toHaveBeenCalledTimes(1);
  });

  it('after a failure the rest are not asked, and nothing is charged', async () => {
    const later = jest.fn(() => 'k');
    const guard = await guardOf({
      key: later,
      always: { name: 'ip', rate: 1, key: () => Promise.reject(new Error('down')) },
    });
    await expect(guard.canActivate(contextOf('http'))).rejects.toMatchObject({ status: 500 });
    expect(later).not.toHaveBeenCalled();
  });
});

describe('the start', () => {
  it.each<[RateLimitModuleOptions, string]>([
    [{}, 'no limit'],
    [{ limit: { rate: 10 } }, 'the limit of the module (rate 10 per second)'],
    [
      { tiers: { free: { rate: 1 }, pro: { rate: 2 } } },
      'the row of its caller in the tiers free, pro',
    ],
    [{ always: { name: 'ip', rate: 1 } }, 'no limit of its own, and besides always ip'],
  ])('says what undecorated routes get: %j', async (options, expected) => {
    const log = jest.spyOn(Logger.prototype, 'log').mockImplementation();
    await guardOf(options);
    const lines = log.mock.calls.map(([message]) => message as string);
    expect(lines).toContain(`a guarded route without a decorator gets ${expected}`);
    expect(
      lines.filter((line) => line.startsWith('buckets are kept in this process')),
    ).toHaveLength(1);
  });
});
