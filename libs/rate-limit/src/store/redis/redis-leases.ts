// Slots as script calls. One sorted set a key; the server's clock decides.
import { US_PER_MS } from '../../core/duration';
import type { Held } from '../../core/leases';
import type { LeaseStore, SlotRequest } from '../lease-store';
import type { RedisLike } from '../redis-like';
import * as scripts from './lua.generated';
import { RedisScript } from './redis-script';

const HOLD_SCRIPT = new RedisScript(scripts.hold.lua);
const RELEASE_SCRIPT = new RedisScript(scripts.release.lua);

/** Slots in Redis, one truth for every process. One round trip a call. */
export class RedisLeases implements LeaseStore {
  /** @param givenUs the time for the scripts, for tests; '' = the server's */
  constructor(
    private readonly client: RedisLike,
    private readonly givenUs: () => number | '' = () => '',
  ) {}

  async hold({ slots, id, max, leaseMs }: SlotRequest): Promise<Held> {
    const reply = await HOLD_SCRIPT.run(
      this.client,
      [slots],
      [id, max, leaseMs * US_PER_MS, this.givenUs()],
    );
    const [granted, inFlight] = (reply as unknown[]).map(Number);
    return { granted: granted === 1, inFlight };
  }

  async release({ slots, id }: Pick<SlotRequest, 'slots' | 'id'>): Promise<void> {
    await RELEASE_SCRIPT.run(this.client, [slots], [id]);
  }
}
