// One subscribed connection of a queue, shared by everything in this process that listens.
import type { QueueSubscriber } from './queue-redis';

/** Hands messages of channels to listeners. Subscribes to a channel when the first listener comes. */
export class Channels {
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  #subscriber: QueueSubscriber | undefined;

  /**
   * @param connect opens the connection; called once, when somebody listens
   * @param onError told when the server refuses to let us listen
   */
  constructor(
    private readonly connect: () => QueueSubscriber,
    private readonly onError: (error: unknown) => void,
  ) {}

  /**
   * Listens until the returned function is called. Resolves when the server knows; a server that is
   * away is told when it is back, so listeners must not rely on messages alone.
   */
  async listen(channel: string, listener: (message: string) => void): Promise<() => void> {
    const listeners = this.#listeners.get(channel);
    if (listeners !== undefined) {
      listeners.add(listener);
    } else {
      this.#listeners.set(channel, new Set([listener]));
      await this.#open().subscribe(channel).catch(this.onError);
    }
    return () => this.#listeners.get(channel)?.delete(listener);
  }

  #open(): QueueSubscriber {
    if (this.#subscriber === undefined) {
      this.#subscriber = this.connect();
      this.#subscriber.on('message', (channel, message) => {
        for (const listener of this.#listeners.get(channel) ?? []) listener(message);
      });
    }
    return this.#subscriber;
  }
}
