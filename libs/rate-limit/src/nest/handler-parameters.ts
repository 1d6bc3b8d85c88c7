// What the parameter decorators of a handler say, and what else decides how it is answered. Reads Nest's metadata.
import { StreamableFile } from '@nestjs/common';
import {
  REDIRECT_METADATA,
  RENDER_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  SSE_METADATA,
} from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum';

interface Parameter {
  /** `undefined`: a decorator of the application. */
  readonly kind: RouteParamtypes | undefined;
  readonly index: number;
  readonly data: unknown;
}

/** The parameters of `host.prototype[method]`. */
export class HandlerParameters {
  readonly #all: readonly Parameter[];

  constructor(
    private readonly host: object,
    private readonly method: string | symbol,
  ) {
    const found = Reflect.getMetadata(ROUTE_ARGS_METADATA, host, method) as
      Readonly<Record<string, { index: number; data?: unknown }>> | undefined;
    this.#all = Object.entries(found ?? {}).map(([key, { index, data }]) => {
      const kind = Number(key.split(':')[0]);
      return { kind: Number.isNaN(kind) ? undefined : kind, index, data };
    });
  }

  /** One more than the last decorated one's index. */
  get length(): number {
    return Math.max(0, ...this.#all.map(({ index }) => index + 1));
  }

  /** True when something besides the body is handed to the handler. */
  get hasOthers(): boolean {
    return this.#all.some(({ kind }) => kind !== RouteParamtypes.BODY);
  }

  /**
   * The body as the handler gets it, after the pipes; put together from its parts where it asks for
   * parts.
   * @param raw for a handler that asks for none
   */
  bodyOf(args: readonly unknown[], raw: unknown): unknown {
    const bodies = this.#all.filter(({ kind }) => kind === RouteParamtypes.BODY);
    if (bodies.length === 0) return raw;
    const whole = bodies.find(({ data }) => typeof data !== 'string');
    return whole === undefined
      ? Object.fromEntries(bodies.map(({ data, index }) => [data as string, args[index]]))
      : args[whole.index];
  }

  /** Why Nest does not send what the handler returns as a body; `undefined` when it does. */
  answeredOtherwise(handler: object): string | undefined {
    const has = (key: string) => Reflect.hasMetadata(key, handler);
    if (has(SSE_METADATA)) return 'it sends events (@Sse)';
    if (has(RENDER_METADATA)) return 'it renders a view (@Render)';
    if (has(REDIRECT_METADATA)) return 'it redirects (@Redirect)';
    const { host, method } = this;
    const prototype = (host as { prototype: object }).prototype;
    if (Reflect.getMetadata('design:returntype', prototype, method) === StreamableFile) {
      return 'it returns a StreamableFile';
    }
    const response = [RouteParamtypes.RESPONSE, RouteParamtypes.NEXT];
    const takesResponse = this.#all.some(
      ({ kind }) => kind !== undefined && response.includes(kind),
    );
    return takesResponse &&
      Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, host, method) !== true
      ? 'it answers by itself (@Res or @Next without passthrough: true)'
      : undefined;
  }
}
