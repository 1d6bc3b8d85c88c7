// One script and how it is called: by its digest, and whole only where the server does not know it.
import { createHash } from 'node:crypto';
import { isUnknownScript, storeError } from './redis-errors';
import type { RedisLike } from '../redis-like';

/**
 * A Lua script. Keeps no state about connections and adds nothing to the client: a client that was
 * handed in stays as it is.
 */
export class RedisScript {
  readonly #sha: string;

  constructor(private readonly lua: string) {
    this.#sha = createHash('sha1').update(lua).digest('hex');
  }

  /**
   * Runs the script. Only NOSCRIPT is sent again: nothing ran then. Any other lost answer may have
   * been a charge, and is never repeated.
   *
   * @throws StoreUnavailableError, StoreConfigurationError
   */
  async run(
    client: RedisLike,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    try {
      return await client.evalsha(this.#sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isUnknownScript(error)) throw storeError(error, this.lua);
    }
    try {
      return await client.eval(this.lua, keys.length, ...keys, ...args);
    } catch (error) {
      throw storeError(error, this.lua);
    }
  }
}
