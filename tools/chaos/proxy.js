// A TCP proxy on loopback that misbehaves on demand. Knows bytes, not Redis.
const { connect, createServer } = require('node:net');
const events = require('node:events');

class ChaosProxy {
  /** ms that every piece of data is late, and up to how many more at random. */
  delayMs = 0;
  jitterMs = 0;
  /** The share of pieces that come `stallMs` late, as a lost segment does that is sent again. */
  lossShare = 0;
  stallMs = 200;
  /** Nothing goes through any more, in either direction; connections are accepted and stay open. */
  silent = false;
  /** The next answer of each connection is cut in its middle, and the connection with it. */
  halfAnswers = false;
  #server;
  #pairs = new Set();

  /** @param target port on loopback */
  static async start(target) {
    const proxy = new ChaosProxy();
    proxy.#server = createServer((client) => proxy.#join(client, connect(target, '127.0.0.1')));
    proxy.#server.listen(0, '127.0.0.1');
    await events.once(proxy.#server, 'listening');
    return proxy;
  }

  get port() {
    return this.#server.address().port;
  }

  get url() {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Connections that stand. */
  get connections() {
    return this.#pairs.size;
  }

  /** Ends all connections without a word. */
  cut() {
    for (const end of [...this.#pairs]) end();
  }

  /** As new. What was held back while it was silent is gone: cut the connections, or they never speak again. */
  heal() {
    Object.assign(this, {
      delayMs: 0,
      jitterMs: 0,
      lossShare: 0,
      silent: false,
      halfAnswers: false,
    });
  }

  async stop() {
    this.cut();
    this.#server.close();
    await events.once(this.#server, 'close');
  }

  #join(client, server) {
    const end = () => {
      this.#pairs.delete(end);
      client.destroy();
      server.destroy();
    };
    this.#pairs.add(end);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', end);
    }
    this.#pump(client, server, () => false, end);
    this.#pump(server, client, () => this.halfAnswers, end);
  }

  /** Hands pieces on in their order, each in its time. */
  #pump(from, to, breaks, end) {
    // Timers of different lengths do not fire in the order of their times, so there is one for all pieces.
    const waiting = [];
    let timer;
    const send = () => {
      timer = undefined;
      while (waiting.length > 0 && waiting[0].dueMs <= performance.now()) {
        const { piece } = waiting.shift();
        if (to.destroyed || this.silent) continue;
        if (!breaks()) to.write(piece);
        else to.write(piece.subarray(0, Math.ceil(piece.length / 2)), end);
      }
      if (waiting.length > 0) timer = setTimeout(send, waiting[0].dueMs - performance.now() + 1);
    };
    let dueMs = 0;
    from.on('data', (piece) => {
      if (this.silent) return;
      const lost = Math.random() < this.lossShare ? this.stallMs : 0;
      const lateMs = this.delayMs + this.jitterMs * Math.random() + lost;
      dueMs = Math.max(dueMs, performance.now() + lateMs);
      waiting.push({ piece, dueMs });
      if (timer === undefined) send();
    });
  }
}

module.exports = { ChaosProxy };
