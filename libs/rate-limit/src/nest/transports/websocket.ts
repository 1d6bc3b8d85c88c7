// WebSockets, by `ws` and by Socket.IO: every message that a guard sees is a call.
/* oxlint-disable typescript/no-explicit-any -- a library's connection, whichever library it is */
import type { ExecutionContext } from '@nestjs/common';
import type { Caller } from '../../http/caller';
import { refusalData, type TransportAdapter } from './transport';

/** The caller of a message. `body` is its data. */
class WebSocketCaller implements Caller {
  readonly transport = 'ws';
  readonly args: any[];
  readonly client: any;

  constructor(context: ExecutionContext) {
    this.args = context.getArgs<any[]>();
    [this.client] = this.args as unknown[];
  }

  get ip(): string | undefined {
    const { client } = this;
    // Socket.IO; ws.
    return client?.handshake?.address ?? client?._socket?.remoteAddress;
  }
  get user(): any {
    const { client } = this;
    return client?.user ?? client?.data?.user ?? client?.request?.user;
  }
  get headers(): Caller['headers'] {
    return this.client?.handshake?.headers ?? {};
  }
  get body(): any {
    return (this.args as unknown[])[1];
  }
}

export const websocket: TransportAdapter = {
  caller: (context) => new WebSocketCaller(context),
  refusal(exception) {
    // Whoever has gateways has the package.
    const { WsException } = require('@nestjs/websockets') as {
      WsException: new (error: object) => Error;
    };
    return new WsException({
      ...refusalData(exception),
      status: 'error',
      statusCode: exception.getStatus(),
    });
  },
  onGone: ({ client }, gone) => {
    client?.once?.('disconnect', gone);
    client?.once?.('close', gone);
    return () => {
      client?.removeListener?.('disconnect', gone);
      client?.removeListener?.('close', gone);
    };
  },
};
