// Pure: what a client is told of a job over HTTP.
import { retryAfterSeconds } from '../http/retry-after';
import type { JobStatus } from './queue-face';

/** The body about a job; fields that its state does not have are left out. */
export interface JobBody {
  /** 128 random bits in hex. */
  readonly id: string;
  readonly state: JobStatus['state'];
  /** While it waits: when it will start, in epoch ms of Redis' clock. */
  readonly startsAt?: number;
  /** While it waits: its place in its line, from 1; 0 = it starts now. */
  readonly position?: number;
  /** Once it is completed: what its processor returned. Why a job failed is not told. */
  readonly result?: unknown;
  /** Where its status is served. Left out without `RateLimitStatusModule`. */
  readonly statusUrl?: string;
}

/** A body, and the headers that go with it. */
export interface JobAnswer {
  readonly body: JobBody;
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>;
}

/** The answer about a job in this state. */
export function jobAnswer(id: string, status: JobStatus, statusUrl: string | undefined): JobAnswer {
  const waits = status.state === 'waiting';
  return {
    body: {
      id,
      state: status.state,
      ...(waits && { startsAt: status.startsAt, position: status.position }),
      ...(status.state === 'completed' && { result: status.value ?? null }),
      ...(statusUrl !== undefined && { statusUrl }),
    },
    headers: [
      ['Cache-Control', 'no-store'],
      ...(waits ? [['Retry-After', `${retryAfterSeconds(status.startsInMs ?? 0)}`] as const] : []),
    ],
  };
}
