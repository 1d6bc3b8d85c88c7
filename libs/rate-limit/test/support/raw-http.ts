// HTTP as bytes, for what no client would send. Knows nothing of the library.
import { connect } from 'node:net';

/** What came back. */
export interface RawAnswer {
  /** `undefined`: the connection ended without an answer. */
  readonly status: number | undefined;
  readonly text: string;
}

const PATIENCE_MS = 20_000;
/** A closed connection keeps its port for a while: other addresses have others. */
const CALLS_AN_ADDRESS = 2000;
let calls = 0;

/**
 * Sends bytes on a connection of their own and reads to its end. The bytes have to ask for `Connection: close`.
 */
export function sendRaw(port: number, bytes: Buffer): Promise<RawAnswer> {
  const localAddress = `127.1.${Math.floor(calls++ / CALLS_AN_ADDRESS) % 250}.1`;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => {
      const text = Buffer.concat(chunks).toString('latin1');
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      resolve({ status: status === undefined ? undefined : Number(status), text });
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server that refuses what it has not read to the end resets the connection.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    // Not `end`: to Node, a client that half-closes has gone.
    socket.write(bytes);
  });
}
