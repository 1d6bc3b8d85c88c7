// What a client is refused for when it connects. No call is there to hear it, so later ones would only find no connection.
import { StoreConfigurationError } from '../../core/errors';
import { isConfigurationError } from './redis-errors';

/** What is used of a client of ioredis; one that tells no events is never known to be refused. */
interface Telling {
  readonly isCluster?: boolean;
  readonly status?: string;
  on?(event: string, listener: (error?: unknown) => void): unknown;
  removeListener?(event: string, listener: (error?: unknown) => void): unknown;
}

/** Listens to a client, and changes nothing about it. A wrong password must not look like an outage. */
export class Refusals {
  #refusal: StoreConfigurationError | undefined;
  #refusedThisTime = false;
  readonly #listeners: readonly (readonly [event: string, listener: (error?: unknown) => void])[];

  constructor(private readonly client: Telling) {
    this.#listeners = [
      ['connect', () => (this.#refusedThisTime = false)],
      ['ready', () => this.#ready()],
      // A cluster goes on while one of its nodes can be reached; what the nodes say, it tells here.
      [client.isCluster === true ? 'node error' : 'error', (error) => this.#note(error)],
    ];
    for (const [event, listener] of this.#listeners) client.on?.(event, listener);
  }

  /** Why no call can reach Redis, if it is that. */
  get current(): StoreConfigurationError | undefined {
    const { isCluster, status } = this.client;
    return isCluster === true && status === 'ready' ? undefined : this.#refusal;
  }

  /** Listens no more. */
  stop(): void {
    for (const [event, listener] of this.#listeners) this.client.removeListener?.(event, listener);
  }

  #ready(): void {
    if (this.client.isCluster === true || !this.#refusedThisTime) this.#refusal = undefined;
  }

  #note(error: unknown): void {
    if (!isConfigurationError(error)) return;
    this.#refusedThisTime = true;
    this.#refusal = new StoreConfigurationError(
      `Redis refuses the connection: ${(error as Error).message}. Check the user, the password and the database number`,
      { cause: error },
    );
  }
}
