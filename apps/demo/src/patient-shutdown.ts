// How the demo ends: answers that are on their way get a second, then their connections are cut.
import { type Server } from 'node:http';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

const PATIENCE_MS = 1000;

/** A client that keeps its connection busy would hold up `server.close()` for as long as it likes. */
@Injectable()
export class PatientShutdown implements BeforeApplicationShutdown {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  beforeApplicationShutdown(): void {
    const server = this.host.httpAdapter.getHttpServer() as Server;
    setTimeout(() => server.closeAllConnections(), PATIENCE_MS).unref();
  }
}
