// Configurations as script calls; the server's clock ends them.
import { usFromMs, US_PER_MS } from '../../core/duration';
import type { Configuration, ConfigurationStore, ConfiguredLimit } from '../configuration-store';
import type { RedisLike } from '../redis-like';
import { configurationOf, limitTexts } from './configuration-text';
import * as scripts from './lua.generated';
import { RedisScript } from './redis-script';

const CONFIGURE_SCRIPT = new RedisScript(scripts.configure.lua);
const READ_SCRIPT = new RedisScript(scripts.configuration.lua);
const NO_END = -1;

/** Configurations in Redis, one truth for every process. */
export class RedisConfigurations implements ConfigurationStore {
  /** @param givenUs the time for the scripts, for tests; '' = the server's */
  constructor(
    private readonly client: RedisLike,
    private readonly givenUs: () => number | '' = () => '',
  ) {}

  configure(name: string, configured: ConfiguredLimit, ttlMs: number): Promise<void> {
    const lastsUs = ttlMs === Infinity ? NO_END : usFromMs(ttlMs);
    return this.#change(name, 'limit', lastsUs, ...limitTexts(configured));
  }

  clear(name: string): Promise<void> {
    return this.#change(name, 'limit', 0, '', '');
  }

  block(name: string, ms: number): Promise<void> {
    return this.#change(name, 'block', ms * US_PER_MS, '', '');
  }

  /** One call a name: names of different keys may live in different slots. */
  async read(names: readonly string[]): Promise<Configuration[]> {
    return Promise.all(
      names.map(async (name) => {
        const reply = await READ_SCRIPT.run(this.client, [name], [this.givenUs()]);
        const [nowUs, text] = reply as [number, string | null];
        return configurationOf(text, Number(nowUs));
      }),
    );
  }

  async #change(name: string, ...args: (string | number)[]): Promise<void> {
    await CONFIGURE_SCRIPT.run(this.client, [name], [this.givenUs(), ...args]);
  }
}
