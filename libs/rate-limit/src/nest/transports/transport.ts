// What the limiter needs of a way into the application, whatever it is.
import type { ExecutionContext, HttpException } from '@nestjs/common';
import type { Caller } from '../../http/caller';
import type { ProxyWatch } from './proxy-watch';

/** One way in. */
export interface TransportAdapter {
  /** Who calls. Never throws: what the transport does not have is `undefined`. */
  caller(context: ExecutionContext, proxies: ProxyWatch): Caller;
  /** A refusal in the words of the transport, so that clients can read it. */
  refusal(exception: HttpException): unknown;
  /** Calls `gone` when the caller leaves before it has its answer. Returns what ends listening. */
  onGone(caller: Caller, gone: () => void): () => void;
}

/** What a client reads of a refusal where there are no headers. */
export interface RefusalData {
  readonly status: number;
  readonly code: 'RATE_LIMITED' | 'RATE_LIMITER_UNAVAILABLE' | 'REFUSED';
  readonly message: string;
  /** Whole seconds, rounded up; as `Retry-After`. */
  readonly retryAfter?: number;
  readonly violatedPolicies?: readonly string[];
}

/** The same, whatever carries it. */
export function refusalData(exception: HttpException): RefusalData {
  const status = exception.getStatus();
  const body = exception.getResponse() as Readonly<Record<string, unknown>>;
  const { detail, retryAfter } = body as { detail?: string; retryAfter?: number };
  const violated = body['violated-policies'] as readonly string[] | undefined;
  const code = { 429: 'RATE_LIMITED', 503: 'RATE_LIMITER_UNAVAILABLE' } as const;
  return {
    status,
    code: code[status as keyof typeof code] ?? 'REFUSED',
    message: detail ?? exception.message,
    ...(retryAfter !== undefined && { retryAfter }),
    ...(violated !== undefined && { violatedPolicies: violated }),
  };
}
