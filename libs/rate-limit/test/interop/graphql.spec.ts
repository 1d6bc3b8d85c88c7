// GraphQL over real HTTP: Apollo on both adapters and Mercurius, whatever their context holds.
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import type { Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  Args,
  Field,
  GraphQLModule,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
  Subscription,
} from '@nestjs/graphql';
import { createClient } from 'graphql-ws';
import {
  byHeader,
  byIp,
  firstOf,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nest-rate-limit';
import { WebSocket } from 'ws';
import { ADAPTERS, type App, closeApps, startApp } from '../support/nest-app';

const [[, express], [, fastify]] = ADAPTERS;
const NEVER = 0.001;
/** Its context has the request and no reply, so there is nothing to put headers on. */
const WITHOUT_REPLY = 'Apollo on Fastify';

afterEach(closeApps);

@ObjectType()
class Book {
  @Field() title!: string;
}

@Resolver(() => Book)
class Books {
  @Query(() => Book)
  @RateLimit({ rate: NEVER, capacity: 2 })
  book(): Book {
    return { title: 'Dune' };
  }

  @Query(() => [Book])
  @RateLimit({
    name: 'list',
    rate: NEVER,
    capacity: 10,
    cost: ({ body }) => (body as { first: number }).first,
  })
  books(@Args('first') first: number): Book[] {
    return Array.from({ length: first }, (_, i) => ({ title: `${i}` }));
  }

  @Mutation(() => String)
  @RateLimit({ rate: NEVER, capacity: 1, key: firstOf(byHeader('x-api-key'), byIp()) })
  add(): string {
    return 'added';
  }

  @ResolveField(() => String)
  @RateLimit({ name: 'detail', rate: NEVER, capacity: 3 })
  detail(@Parent() { title }: Book): string {
    return `about ${title}`;
  }

  @Subscription(() => String)
  @RateLimit({ rate: NEVER, capacity: 2 })
  async *ticks(): AsyncGenerator<{ ticks: string }> {
    for (const ticks of ['a', 'b', 'c', 'd']) {
      await Promise.resolve();
      yield { ticks };
    }
  }
}

interface Answered {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions?: Record<string, unknown>;
  }[];
}

const COMMON = { autoSchemaFile: true, fieldResolverEnhancers: ['guards' as const] };

type Context = ApolloDriverConfig['context'];

function apollo(context?: Context): Type | object {
  return GraphQLModule.forRoot<ApolloDriverConfig>({
    ...COMMON,
    driver: ApolloDriver,
    ...(context !== undefined && { context }),
    subscriptions: { 'graphql-ws': true },
  });
}

const SETUPS: [string, (typeof ADAPTERS)[number][1], () => object][] = [
  ['Apollo on Express', express, () => apollo()],
  [
    'Apollo on Express, context with req and res',
    express,
    () => apollo(({ req, res }: { req: object; res: object }) => ({ req, res })),
  ],
  [
    'Apollo on Express, context with req alone',
    express,
    () => apollo(({ req }: { req: object }) => ({ req })),
  ],
  [WITHOUT_REPLY, fastify, () => apollo()],
  [
    'Apollo on Fastify, context with request and reply',
    fastify,
    () => apollo((request: object, reply: object) => ({ request, reply })),
  ],
];

function start(
  adapter: (typeof ADAPTERS)[number][1],
  graphql: object,
  options: RateLimitModuleOptions = {},
): Promise<App> {
  return startApp(
    {
      imports: [graphql as Type, RateLimitModule.forRoot(options)],
      providers: [Books, { provide: APP_GUARD, useClass: RateLimitGuard }],
    },
    { adapter },
  );
}

async function ask(app: App, query: string, headers?: Record<string, string>) {
  const answer = await app.call('POST', '/graphql', { body: { query }, headers });
  return { ...answer, body: answer.body as Answered };
}

describe.each(SETUPS)('%s', (name, adapter, graphql) => {
  it('limits queries, and refuses by a GraphQL error that says when to come back', async () => {
    const app = await start(adapter, graphql());
    for (const remaining of ['1', '0']) {
      const { body, headers } = await ask(app, '{ book { title } }');
      expect(body).toEqual({ data: { book: { title: 'Dune' } } });
      expect(headers['x-ratelimit-remaining']).toBe(name === WITHOUT_REPLY ? undefined : remaining);
    }
    const { body, headers } = await ask(app, '{ book { title } }');
    expect(body.errors).toHaveLength(1);
    expect(body.errors?.[0].extensions).toMatchObject({
      code: 'RATE_LIMITED',
      status: 429,
      retryAfter: 1000,
      violatedPolicies: ['default'],
    });
    expect(headers['retry-after']).toBe(name === WITHOUT_REPLY ? undefined : '1000');
  });

  it('charges every alias, by the arguments of its field', async () => {
    const app = await start(adapter, graphql());
    const aliases = await ask(app, '{ a: book { title } b: book { title } c: book { title } }');
    expect(aliases.body.errors?.map(({ extensions }) => extensions?.code)).toEqual([
      'RATE_LIMITED',
    ]);
    expect((await ask(app, '{ books(first: 7) { title } }')).body.errors).toBeUndefined();
    expect((await ask(app, '{ books(first: 4) { title } }')).body.errors).toHaveLength(1);
    expect((await ask(app, '{ books(first: 3) { title } }')).body.errors).toBeUndefined();
  });

  it('limits mutations by who calls, and field resolvers', async () => {
    const app = await start(adapter, graphql());
    const mutation = 'mutation { add }';
    for (const key of ['ann', 'bob']) {
      expect((await ask(app, mutation, { 'x-api-key': key })).body.data).toEqual({ add: 'added' });
    }
    expect((await ask(app, mutation, { 'x-api-key': 'ann' })).body.errors).toHaveLength(1);
    const { body } = await ask(app, '{ books(first: 5) { detail } }');
    expect(body.errors?.map(({ extensions }) => extensions?.code)).toContain('RATE_LIMITED');
  });
});

it('subscriptions: starting one is a call, its events are none, and a refusal is a GraphQL error', async () => {
  const app = await start(express, apollo());
  const url = `${app.url.replace('http', 'ws')}/graphql`;
  const client = createClient({ url, webSocketImpl: WebSocket });
  const run = async () => {
    const seen: unknown[] = [];
    for await (const { data, errors } of client.iterate({ query: 'subscription { ticks }' })) {
      seen.push(errors?.[0].extensions?.code ?? data?.ticks);
    }
    return seen;
  };
  try {
    expect(await run()).toEqual(['a', 'b', 'c', 'd']);
    expect(await run()).toEqual(['a', 'b', 'c', 'd']);
    const refused = await run().catch((error: unknown) => error);
    expect(JSON.stringify(refused)).toContain('RATE_LIMITED');
  } finally {
    await client.dispose();
  }
});

it('a missing identity is an error that says so, and nobody’s bucket', async () => {
  const app = await start(express, apollo(), {
    always: { name: 'user', rate: 1, key: byHeader('x-api-key') },
  });
  const { body } = await ask(app, '{ book { title } }');
  expect(body.errors?.[0].message).toContain('x-api-key');
});
