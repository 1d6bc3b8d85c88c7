// Says once that addresses may be a proxy's: clients send along whom they forward for, and the framework trusts nobody,
// or others than those that come.
import { Logger } from '@nestjs/common';

interface Forwarded {
  readonly headers: Record<string, unknown>;
  /** Addresses that trusted proxies vouch for. Fastify: the peer's before them; absent without `trustProxy`. */
  readonly ips?: readonly string[];
  /** Express: whose settings hold. */
  readonly app?: { get(setting: string): unknown };
}

/** So many requests with X-Forwarded-For, none of them by a trusted proxy, are no coincidence. */
const NO_COINCIDENCE = 100;

const REMEDY =
  "app.set('trust proxy', ['10.0.0.0/8']) on Express, new FastifyAdapter({ trustProxy: ['10.0.0.0/8'] }) on Fastify. " +
  'Without a proxy there is nothing to do: the header is ignored';

/** Watches the requests whose address is asked for, until there was something to say or all is well. */
export class ProxyWatch {
  #watches = true;
  #unvouched = 0;

  look(request: Forwarded): void {
    if (!this.#watches) return;
    const isListed = request.headers['x-forwarded-for'] !== undefined;
    if (!isListed && request.headers.forwarded === undefined) return;
    if (!trustsSomebody(request)) {
      this.#say(
        isListed
          ? 'a request came with X-Forwarded-For, and no proxy is trusted: behind a proxy all clients count as one address. Name your proxies'
          : 'a request came with Forwarded, and no proxy is trusted: behind a proxy all clients count as one address. Express and Fastify read X-Forwarded-For only: have your proxies send that, and name them',
      );
    } else if (isListed && isVouchedFor(request)) {
      this.#watches = false;
    } else if (isListed && ++this.#unvouched === NO_COINCIDENCE) {
      this.#say(
        `${NO_COINCIDENCE} requests came with X-Forwarded-For, and not one from a proxy that is trusted: if they came through yours, all clients count as one address. ` +
          'Name the addresses of your proxies (on Fastify, a number of hops trusts nobody)',
      );
    }
  }

  #say(what: string): void {
    this.#watches = false;
    new Logger('RateLimitGuard').warn(`${what}: ${REMEDY}`);
  }
}

/** Not by what came of one request: who comes past the proxies is trusted by nobody, and rightly so. */
function trustsSomebody({ app, ips }: Forwarded): boolean {
  return app === undefined ? ips !== undefined : Boolean(app.get('trust proxy'));
}

function isVouchedFor({ app, ips = [] }: Forwarded): boolean {
  return ips.length > (app === undefined ? 1 : 0);
}
