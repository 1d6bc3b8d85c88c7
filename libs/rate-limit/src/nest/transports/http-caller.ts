// HTTP as a transport: who calls, and how headers get onto the answer. Express and Fastify alike.
/* oxlint-disable typescript/no-explicit-any -- a framework's objects, whatever framework it is */
import type { ExecutionContext } from '@nestjs/common';
import type { Caller } from '../../http/caller';
import type { Outcome } from '../charge-on';
import type { ProxyWatch } from './proxy-watch';

interface HttpRequest {
  ip?: string;
  user?: unknown;
  headers: Caller['headers'];
  body?: any;
  params?: any;
  query?: any;
  ips?: readonly string[];
  /** Fastify: Node's request, which middleware writes to. */
  raw?: { user?: unknown };
}

/** The caller of an HTTP request. Fields are read when asked for: `req.ip` is computed by the framework. */
export class HttpCaller implements Caller {
  readonly transport = 'http';
  readonly req: any;
  readonly res: any;
  readonly args: any[];

  constructor(
    context: ExecutionContext,
    private readonly proxies: ProxyWatch,
  ) {
    this.args = context.getArgs<any[]>();
    [this.req, this.res] = this.args as [unknown, unknown];
  }

  get ip(): string | undefined {
    this.proxies.look(this.#request);
    return this.#request.ip;
  }
  get user(): any {
    return this.#request.user ?? this.#request.raw?.user;
  }
  get headers(): Caller['headers'] {
    return this.#request.headers;
  }
  get body(): any {
    return this.#request.body;
  }
  get params(): any {
    return this.#request.params;
  }
  get query(): any {
    return this.#request.query;
  }

  get #request(): HttpRequest {
    return this.req as HttpRequest;
  }
}

interface HttpResponse {
  headersSent?: boolean;
  /** Fastify: Node's response. */
  raw?: { headersSent: boolean; setHeader(name: string, value: string): unknown };
  header(name: string, value: string): unknown;
}

interface Closable {
  readonly destroyed?: boolean;
  readonly closed?: boolean;
  once(event: 'close', listener: () => void): unknown;
  removeListener(event: 'close', listener: () => void): unknown;
}

interface ServerAnswer extends Closable {
  readonly statusCode: number;
  readonly writableFinished: boolean;
}

/**
 * Calls `gone` when the client closes the connection before it has its answer; at once when it did
 * already. Returns what ends listening.
 */
export function onDisconnect(response: unknown, gone: () => void): () => void {
  // Fastify: Node's response is inside.
  if (response === undefined) return () => undefined;
  const raw = ((response as { raw?: Closable }).raw ?? response) as Closable;
  if (raw.destroyed === true || raw.closed === true) {
    gone();
    return () => undefined;
  }
  raw.once('close', gone);
  return () => raw.removeListener('close', gone);
}

/**
 * Calls `ended` once, when the answer is complete, or the connection closes before; at once when it did already. A
 * handler that never answers keeps it waiting for as long as the connection stands.
 */
export function onAnswered(response: unknown, ended: (outcome: Outcome) => void): void {
  const raw = ((response as { raw?: ServerAnswer }).raw ?? response) as ServerAnswer;
  const tell = () => {
    const { statusCode, writableFinished } = raw;
    ended({ statusCode, aborted: !writableFinished });
  };
  if (raw.destroyed === true || raw.closed === true) tell();
  else raw.once('close', tell);
}

/** Sets headers on Express' response or Fastify's reply; does nothing once they were sent. */
export function setHeaders(
  response: unknown,
  headers: ReadonlyArray<readonly [name: string, value: string]>,
): void {
  // Not every call has an answer of its own: a subscription, a message.
  if (typeof (response as HttpResponse | undefined)?.header !== 'function') return;
  const target = response as HttpResponse;
  if (target.headersSent ?? target.raw?.headersSent) return;
  for (const [name, value] of headers) {
    target.header(name, value);
    // Fastify keeps headers to itself until it answers: a handler that answers on Node's response sends only those there.
    target.raw?.setHeader(name, value);
  }
}
