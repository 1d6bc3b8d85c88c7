// Somebody else's API, for the demo to call: a real HTTP server that takes so many mails a second and answers 429
// to more. It limits in its own way, knows nothing of this library, and counts.
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** The provider's own burst, in mails. */
const BURST = 5;

/** Takes `perSecond` mails a second, with a small burst. */
@Injectable()
export class MailProvider implements BeforeApplicationShutdown {
  #accepted = 0;
  #refused = 0;
  #left = BURST;
  #countedAt = process.uptime();
  #listening: Promise<Server> | undefined;

  constructor(private readonly perSecond: number) {}

  get counts(): { accepted: number; refused: number } {
    return { accepted: this.#accepted, refused: this.#refused };
  }

  /** Where it listens; on a free port of the loopback interface from the first call on. */
  async url(): Promise<string> {
    this.#listening ??= new Promise((resolve) => {
      const server = createServer((request, response) => {
        request.resume();
        const waitS = this.#take();
        response.writeHead(
          waitS === 0 ? 202 : 429,
          waitS === 0 ? {} : { 'retry-after': `${waitS}` },
        );
        response.end();
      });
      server.listen(0, '127.0.0.1', () => resolve(server));
    });
    const { port } = (await this.#listening).address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async beforeApplicationShutdown(): Promise<void> {
    const server = await this.#listening;
    server?.close();
    server?.closeIdleConnections();
  }

  /** 0, or the seconds after which it is worth coming back. */
  #take(): number {
    const now = process.uptime();
    this.#left = Math.min(BURST, this.#left + (now - this.#countedAt) * this.perSecond);
    this.#countedAt = now;
    if (this.#left < 1) {
      this.#refused++;
      return Math.ceil((1 - this.#left) / this.perSecond);
    }
    this.#left--;
    this.#accepted++;
    return 0;
  }
}
