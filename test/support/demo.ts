// The demo, listening in this process, for tests from end to end. Knows HTTP and settings; no library internals.
import { type AddressInfo } from 'node:net';
import { type INestApplication } from '@nestjs/common';
import { createDemo } from '../../apps/demo/src/create-demo';
import { type Settings, settingsFrom } from '../../apps/demo/src/settings';
import { sharedRedisUrl, uniquePrefix } from '../../libs/rate-limit/test/support/redis-server';

/** Both adapters, for `describe.each`. */
export const ADAPTERS = ['express', 'fastify'] as const;

/** What came back, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, parsed. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it
  readonly json: any;
}

/** What to send beside the path. */
export interface Call {
  /** The `x-api-key` header. */
  readonly key?: string;
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A demo that listens on a free loopback port. */
export class RunningDemo {
  private constructor(
    readonly app: INestApplication,
    readonly url: string,
  ) {}

  /** On the tests' Redis, with buckets that nobody else has, unless the settings say otherwise. */
  static async start(changes: Partial<Settings> = {}): Promise<RunningDemo> {
    const app = await createDemo({
      ...settingsFrom({}),
      redisUrl: sharedRedisUrl(),
      keyPrefix: uniquePrefix(),
      ...changes,
    });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    return new RunningDemo(app, `http://127.0.0.1:${port}`);
  }

  async call(path: string, { key, method = 'GET', body, headers }: Call = {}): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: {
        ...(key !== undefined && { 'x-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      redirect: 'manual',
    });
    const text = await response.text();
    const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? JSON.parse(text) : undefined,
    };
  }

  /** The same call `times` over, one after the other. */
  async repeat(times: number, path: string, call: Call = {}): Promise<Answer[]> {
    const answers: Answer[] = [];
    while (answers.length < times) answers.push(await this.call(path, call));
    return answers;
  }

  async stop(): Promise<void> {
    await this.app.close();
  }
}

/** Status codes of answers. */
export function statuses(answers: readonly Answer[]): number[] {
  return answers.map(({ status }) => status);
}

/** How many of the answers are 200. */
export function passed(answers: readonly Answer[]): number {
  return answers.filter(({ status }) => status === 200).length;
}

/** `Retry-After` of a refusal, in ms. */
export function retryAfterMs({ headers }: Answer): number {
  return Number(headers.get('retry-after')) * 1000;
}
