// Clients that wait for a job to end: how long, how many, and what sends them away early.
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { MS_PER_SECOND } from '../core/duration';
import { onDisconnect, setHeaders } from '../nest/transports/http-caller';
import type { RateLimitedQueue } from './rate-limited-queue';

/** Proxies tend to give up after a minute. */
const LONGEST_WAIT_S = 30;
/** Clients that wait in one process; more are answered at once, as if they had not asked. */
const MOST_WAITING = 1000;
/** `wait=5` among the preferences of RFC 7240. */
const WAIT = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?=$|[,;])/i;

/** The seconds that a `Prefer` header asks to wait, bounded; `undefined` when it does not. */
export function preferredWaitS(prefer: string | undefined): number | undefined {
  const asked = WAIT.exec(prefer ?? '')?.[1];
  return asked === undefined ? undefined : Math.min(LONGEST_WAIT_S, Number(asked));
}

/** The clients of this process that wait. */
@Injectable()
export class LongPolls implements BeforeApplicationShutdown {
  readonly #waiting = new Set<AbortController>();
  #closed = false;

  /** True when one more may wait. */
  get hasRoom(): boolean {
    return !this.#closed && this.#waiting.size < MOST_WAITING;
  }

  /** Waits until a job has ended, the time is up, the client has gone or the application closes. */
  async wait(
    queue: RateLimitedQueue,
    id: string,
    seconds: number,
    response: unknown,
  ): Promise<void> {
    const end = new AbortController();
    this.#waiting.add(end);
    const stopListening = onDisconnect(response, () => end.abort());
    try {
      await queue.ticket(id).result({ timeoutMs: seconds * MS_PER_SECOND, signal: end.signal });
    } catch {
      // However the wait ended: the status tells.
    } finally {
      stopListening();
      this.#waiting.delete(end);
    }
    // A server that closes waits for connections that stay open for more requests.
    if (this.#closed) setHeaders(response, [['Connection', 'close']]);
  }

  /** Before the server waits for open requests: those that are held here would keep it. */
  beforeApplicationShutdown(): void {
    this.#closed = true;
    for (const end of this.#waiting) end.abort();
  }
}
