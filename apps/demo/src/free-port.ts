// Whether a port can be had.
import { createServer } from 'node:net';

/**
 * True when nobody listens on `port` on any address: were it only free on 127.0.0.1, "localhost"
 * could still be somebody else's.
 */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const trial = createServer()
      .once('error', () => resolve(false))
      .listen(port, () => trial.close(() => resolve(true)));
  });
}
