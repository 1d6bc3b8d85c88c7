// Says once that addresses may be a proxy's: a client sent along whom it forwards for, and the framework was told to
// trust nobody.
import { Logger } from '@nestjs/common';

interface Forwarded {
  readonly headers: Record<string, unknown>;
  /** Express: addresses that trusted proxies vouch for; empty without. Fastify: absent without `trustProxy`. */
  readonly ips?: readonly string[];
}

/** Watches the requests whose address is asked for, until there was something to say. */
export class ProxyWatch {
  #watches = true;

  look(request: Forwarded): void {
    if (!this.#watches || request.headers['x-forwarded-for'] === undefined) return;
    this.#watches = false;
    if (request.ips !== undefined && request.ips.length > 0) return;
    new Logger('RateLimitGuard').warn(
      'a request came with X-Forwarded-For, and no proxy is trusted: behind a proxy all clients count as one address. ' +
        "Name your proxies: app.set('trust proxy', ['10.0.0.0/8']) on Express, new FastifyAdapter({ trustProxy: ['10.0.0.0/8'] }) " +
        'on Fastify. Without a proxy there is nothing to do: the header is ignored',
    );
  }
}
