// Knows the shape of "who calls"; filled by the adapter of each transport, read by key resolvers.
/* oxlint-disable typescript/no-explicit-any -- what a framework hands over has the user's types: resolvers
   write `caller.user.orgId`, which `unknown` would forbid. */

/** How a call came in. `method`: a plain method call without any transport. */
export type Transport = 'http' | 'graphql' | 'ws' | 'rpc' | 'method';

/**
 * Who calls, the same on every transport, so that a key resolver works everywhere.
 *
 * Nothing here is verified by the limiter: `headers`, `body`, `params` and `query` are what the client sent.
 * A field that the transport does not have is `undefined`.
 */
export interface Caller {
  readonly transport: Transport;
  /**
   * The client's address as the framework tells it (Express' and Fastify's `req.ip`), so it follows the
   * framework's own proxy trust. `undefined` on a Unix socket or a closed connection.
   */
  readonly ip?: string;
  /** What authentication put there (`req.user`); `undefined` before it ran. */
  readonly user?: any;
  /** By lower-case name. Empty on a transport without headers. */
  readonly headers: Record<string, string | string[] | undefined>;
  /** The parsed body before pipes and validation; the payload of a message; `undefined` when not parsed yet. */
  readonly body?: any;
  /** Path parameters of the matched route. */
  readonly params?: any;
  /** The parsed query string. */
  readonly query?: any;
  /** The framework's request: Express' `req`, Fastify's `request`. */
  readonly req?: any;
  /** The framework's response: Express' `res`, Fastify's `reply`. */
  readonly res?: any;
  /** The connection, on transports that have one of their own (a WebSocket). */
  readonly client?: any;
  /** The handler's arguments as Nest hands them over; empty outside Nest. */
  readonly args: any[];
}
