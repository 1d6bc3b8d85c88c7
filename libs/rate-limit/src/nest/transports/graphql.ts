// GraphQL, with Apollo and Mercurius: every field that a guard sees is a call. Needs neither package.
/* oxlint-disable typescript/no-explicit-any -- an application's context, whatever it put there */
import type { ExecutionContext } from '@nestjs/common';
import type { Caller } from '../../http/caller';
import { onDisconnect } from './http-caller';
import type { ProxyWatch } from './proxy-watch';
import { refusalData, type TransportAdapter } from './transport';

interface Context {
  req?: any;
  request?: any;
  res?: any;
  reply?: any;
  user?: unknown;
  /** Of a subscription by `graphql-ws`. */
  extra?: { request?: any; socket?: any };
}

/** The caller of a field. `body` are the arguments of the field. */
class GraphqlCaller implements Caller {
  readonly transport = 'graphql';
  readonly args: any[];
  readonly req: any;
  readonly res: any;
  readonly #context: Context;

  constructor(
    context: ExecutionContext,
    private readonly proxies: ProxyWatch,
  ) {
    this.args = context.getArgs<any[]>();
    this.#context = ((this.args as unknown[])[2] ?? {}) as Context;
    const { req, request, res, reply, extra } = this.#context;
    // A subscription by `graphql-ws`: the request that opened the connection.
    const opened = extra?.request ?? req?.extra?.request;
    this.req = opened ?? req ?? request ?? reply?.request;
    this.res = res ?? reply ?? this.req?.res;
  }

  get ip(): string | undefined {
    const { req } = this;
    if (req === undefined) return undefined;
    if (req.headers !== undefined) this.proxies.look(req);
    // The upgrade request of a subscription is Node's, without a framework's word on proxies.
    return req.ip ?? req.socket?.remoteAddress;
  }
  get user(): any {
    return this.req?.user ?? this.req?.raw?.user ?? this.#context.user;
  }
  get headers(): Caller['headers'] {
    return this.req?.headers ?? {};
  }
  get body(): any {
    return (this.args as unknown[])[1];
  }
}

export const graphql: TransportAdapter = {
  caller: (context, proxies) => new GraphqlCaller(context, proxies),
  // What an error carries as `extensions` stands in the answer.
  refusal(exception) {
    const { message: _, ...extensions } = refusalData(exception);
    return Object.assign(exception, { extensions });
  },
  onGone: ({ res }, gone) => onDisconnect(res, gone),
};
