// Requests as bytes against guarded routes on both adapters: every one is answered, and none by a 500. `npm run fuzz` for
// a hundred thousand of each kind.
import type { AddressInfo } from 'node:net';
import { Body, Controller, Get, Logger, Post } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import fc from 'fast-check';
import {
  allOf,
  byBody,
  byHeader,
  byIp,
  firstOf,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
} from 'nest-rate-limit';
import { deferTo } from 'nest-rate-limit/queue';
import { startDeferring } from '../support/deferring-app';
import { fuzz, SEEDS } from '../support/fuzz';
import { hostile, hostileBody, hostileList } from '../support/hostile-text';
import { type App, closeApps, startApp } from '../support/nest-app';
import { sendRaw } from '../support/raw-http';

jest.setTimeout(1_800_000);

const LIMIT = { rate: 0.01, capacity: 5 };
/** What the contract has for a caller's mistakes, and what the parsers of Node and the adapters add. */
const ALLOWED = [
  200, 201, 202, 400, 401, 404, 405, 408, 409, 411, 413, 414, 415, 417, 429, 431, 505,
];

@Controller()
class Routes {
  @Get('ip')
  @RateLimit(LIMIT)
  ip() {
    return 'ok';
  }
  @Get('items/:id')
  @RateLimit({
    ...LIMIT,
    key: firstOf(byHeader('x-api-key'), byIp()),
    cost: ({ query }) => (query.deep === undefined ? 1 : 2),
  })
  item() {
    return 'ok';
  }
  @Post('login')
  @RateLimit({ ...LIMIT, key: allOf(byBody('email'), byIp()), chargeOn: 'failure' })
  login() {
    return 'ok';
  }
}

@Controller()
class Deferring {
  @Post('reports')
  @RateLimit({
    rate: 1,
    capacity: 1,
    key: firstOf(byHeader('x-api-key'), () => 'all'),
    onLimit: deferTo('reports'),
  })
  create(@Body() body: unknown) {
    return { body };
  }
}

const ADAPTERS = [
  [
    'Express',
    () => new ExpressAdapter(),
    (nest: unknown) => (nest as NestExpressApplication).set('trust proxy', true),
  ],
  ['Fastify', () => new FastifyAdapter({ trustProxy: true }), () => undefined],
] as const;

interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: { readonly type: string; readonly text: string } | undefined;
}

const header = (...names: string[]) => fc.tuple(fc.constantFrom(...names), hostileList);
const headers = fc.array(
  header(
    'X-Forwarded-For',
    'X-Forwarded-For',
    'Forwarded',
    'x-api-key',
    'Idempotency-Key',
    'Prefer',
    'Host',
    'User-Agent',
    'x-forwarded-host',
    'Accept',
  ),
  { maxLength: 5 },
);
const query = fc.oneof(
  fc.constant(''),
  hostile.map((text) => `?${text}`),
  hostile.map((text) => `?deep[${text}]=${text}&deep=1`),
);
const pathOf = (...starts: string[]) =>
  fc
    .tuple(fc.constantFrom(...starts), fc.oneof(fc.constant(''), hostile), query)
    .map((parts) => parts.join(''));

const guarded: fc.Arbitrary<Request> = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'),
  path: pathOf('/ip', '/items/', '/items/', '/login', '/', '//ip', '/%69p'),
  headers,
  body: fc.option(hostileBody, { nil: undefined }),
});
const ID = 'f'.repeat(32);
const status: fc.Arbitrary<Request> = fc.record({
  method: fc.constantFrom('GET', 'GET', 'DELETE', 'HEAD'),
  path: pathOf('/rate-limit/jobs/', `/rate-limit/jobs/${ID}`, '/rate-limit/jobs'),
  headers,
  body: fc.constant(undefined),
});
const deferred: fc.Arbitrary<Request> = fc.record({
  method: fc.constant('POST'),
  path: fc.constant('/reports'),
  headers,
  body: fc.option(hostileBody, { nil: undefined }),
});

/** Line ends would begin another request; everything else goes out as it is. */
const oneLine = (text: string) => text.replace(/[\r\n]/g, '');

function bytesOf({ method, path, headers: given, body }: Request): Buffer {
  const host = given.some(([name]) => name === 'Host') ? [] : [['Host', 'fuzz'] as const];
  const content =
    body === undefined
      ? []
      : ([
          ['Content-Type', body.type],
          ['Content-Length', `${Buffer.byteLength(body.text)}`],
        ] as const);
  const lines = [...host, ...given, ...content, ['Connection', 'close'] as const].map(
    ([name, value]) => `${name}: ${oneLine(value)}`,
  );
  const head = [
    `${method} ${oneLine(path).replace(/[ \t]/g, '+')} HTTP/1.1`,
    ...lines,
    '',
    '',
  ].join('\r\n');
  return Buffer.from(head + (body?.text ?? ''), 'utf8');
}

/** What was answered in a test, so that it can tell when nothing was reached. */
const answers = new Map<number, number>();

async function expectAnswer(app: App, request: Request): Promise<void> {
  const { port } = app.nest.getHttpServer().address() as AddressInfo;
  const { status: answered, text } = await sendRaw(port, bytesOf(request));
  if (answered !== undefined && ALLOWED.includes(answered)) {
    answers.set(answered, (answers.get(answered) ?? 0) + 1);
    return;
  }
  throw new Error(`answered with ${answered}: ${text.slice(0, 500)}`);
}

const loose: unknown[] = [];
const note = (error: unknown) => loose.push(error);
let told: jest.SpyInstance;
beforeEach(() => {
  answers.clear();
  process.on('unhandledRejection', note);
  told = jest.spyOn(Logger.prototype, 'error').mockImplementation();
  jest.spyOn(Logger.prototype, 'warn').mockImplementation();
});
afterEach(async () => {
  await closeApps();
  process.off('unhandledRejection', note);
  expectQuiet();
  jest.restoreAllMocks();
});

/** Nothing escaped, and nothing went wrong inside. */
function expectQuiet(): void {
  expect(loose.splice(0)).toEqual([]);
  expect(told.mock.calls).toEqual([]);
}

describe.each(ADAPTERS)('on %s', (_, adapter, prepare) => {
  describe.each(SEEDS)('seed %d', (seed) => {
    it('guarded routes: headers, paths, queries, bodies', async () => {
      const app = await startApp(
        {
          imports: [RateLimitModule.forRoot({ maxBuckets: 1000 })],
          controllers: [Routes],
          providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
        },
        { adapter, prepare },
      );
      await fuzz(seed, guarded, (request) => expectAnswer(app, request));
      // A seed may spread its calls over so many callers that none is refused.
      for (let i = 0; i < 6; i++) answers.set((await app.get('/ip')).status, 1);
      expect([...answers.keys()]).toEqual(expect.arrayContaining([200, 400, 404, 429]));
    });

    it('the status resource and deferred calls, on Redis', async () => {
      const app = await startDeferring({
        controllers: [Deferring],
        adapter,
        prepare,
        // A machine that is busy with other tests is no outage.
        module: { storeTimeoutMs: 20_000 },
        queue: { maxQueue: 20, maxQueueTotal: 200_000 },
      });
      await fuzz(seed, fc.oneof(status, deferred), (request) => expectAnswer(app, request));
      expect([...answers.keys()]).toEqual(expect.arrayContaining([201, 202, 400, 404]));
    });
  });
});
