// Nest applications for tests, over real HTTP on both adapters. Knows nothing of the library.
import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';

/** For `describe.each(ADAPTERS)('… on %s', (_, adapter) => …)`. */
export const ADAPTERS: ReadonlyArray<readonly [name: string, make: () => Adapter]> = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
];

type Adapter = ExpressAdapter | FastifyAdapter;

/** What a test sees of an answer. */
export interface Answer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Record<string, string>;
  readonly body: unknown;
}

/** A listening application. Close it in `afterEach`: see {@link closeApps}. */
export interface App {
  readonly nest: INestApplication;
  readonly url: string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Statuses of several calls, one after the other. */
  statuses(count: number, path: string, headers?: Record<string, string>): Promise<number[]>;
}

export interface CallOptions {
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

export interface AppOptions {
  readonly adapter?: () => Adapter;
  /** Before the modules are made. */
  readonly override?: (builder: TestingModuleBuilder) => TestingModuleBuilder;
  /** Before the application starts. */
  readonly prepare?: (nest: INestApplication) => void;
  /** A Unix socket instead of a port; `call` does not work then. */
  readonly socket?: string;
}

const open: INestApplication[] = [];

/** Closes all applications that were started since the last time. */
export async function closeApps(): Promise<void> {
  await Promise.all(open.splice(0).map((nest) => nest.close()));
}

/** Builds without listening. Rejects with what stops the start. */
export async function buildApp(
  metadata: ModuleMetadata,
  { adapter = ADAPTERS[0][1], override = (builder) => builder, prepare }: AppOptions = {},
): Promise<INestApplication> {
  const module = await override(Test.createTestingModule(metadata)).compile();
  const nest = module.createNestApplication(adapter(), { logger: false });
  prepare?.(nest);
  open.push(nest);
  await nest.init();
  return nest;
}

export async function startApp(metadata: ModuleMetadata, options: AppOptions = {}): Promise<App> {
  const nest = await buildApp(metadata, options);
  if (options.socket !== undefined) await nest.listen(options.socket);
  else await nest.listen(0, '127.0.0.1');
  const url = options.socket === undefined ? await nest.getUrl() : options.socket;
  const call = async (method: string, path: string, { headers = {}, body }: CallOptions = {}) => {
    const json = body === undefined ? undefined : JSON.stringify(body);
    const answer = await fetch(url + path, {
      method,
      headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: json,
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      body: text.startsWith('{') || text.startsWith('[') ? (JSON.parse(text) as unknown) : text,
    };
  };
  const get = (path: string, headers?: Record<string, string>) => call('GET', path, { headers });
  return {
    nest,
    url,
    call,
    get,
    statuses: async (count, path, headers) => {
      const statuses: number[] = [];
      for (let i = 0; i < count; i++) statuses.push((await get(path, headers)).status);
      return statuses;
    },
  };
}

/** `count` times `value`. */
export function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value);
}
