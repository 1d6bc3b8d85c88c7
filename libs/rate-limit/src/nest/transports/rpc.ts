// Microservices: every message and event that a guard sees is a call. A refused event is dropped: nobody waits for it.
/* oxlint-disable typescript/no-explicit-any -- a transport's context, whichever transport it is */
import type { ExecutionContext } from '@nestjs/common';
import type { Caller } from '../../http/caller';
import { refusalData, type TransportAdapter } from './transport';

/** The caller of a message. `body` is its data. */
class RpcCaller implements Caller {
  readonly transport = 'rpc';
  readonly args: any[];
  readonly client: any;

  constructor(context: ExecutionContext) {
    this.args = context.getArgs<any[]>();
    this.client = (this.args as unknown[])[1];
  }

  /** Over TCP; a broker hides who sent. */
  get ip(): string | undefined {
    const socket = this.client?.getSocketRef?.();
    return (
      socket?.remoteAddress ?? socket?.socket?.remoteAddress ?? socket?.netSocket?.remoteAddress
    );
  }
  get user(): any {
    return this.body?.user;
  }
  get headers(): Caller['headers'] {
    return {};
  }
  get body(): any {
    return (this.args as unknown[])[0];
  }
}

export const rpc: TransportAdapter = {
  caller: (context) => new RpcCaller(context),
  refusal(exception) {
    // Whoever has message handlers has the package.
    const { RpcException } = require('@nestjs/microservices') as {
      RpcException: new (error: object) => Error;
    };
    return new RpcException(refusalData(exception));
  },
  onGone: () => () => undefined,
};
