// Pure: the slots of one key, each held by an id until its lease ends. Twin of store/redis/lua/hold.lua and release.lua.

/** What a call found. */
export interface Held {
  /** The id holds a slot now. */
  readonly granted: boolean;
  /** Slots that are held after the call. */
  readonly inFlight: number;
}

/**
 * Who holds a slot of one key, and until when.
 *
 * A counter that is raised and lowered leaks a slot with every holder that dies. A lease ends by itself:
 * a slot is held until its end, which its holder puts off again and again while it works. Ids make
 * letting go safe: who lets go late, after the lease has ended and the slot is another's, frees nothing.
 */
export class Leases {
  readonly #endsAtUs = new Map<string, number>();
  /** No lease ends before this. */
  #firstEndUs = Infinity;

  /**
   * Takes a slot for `id`, or keeps the one that it has, until `leaseUs` from now. A lease that ended
   * is as if it had never been, so its holder gets a slot again only if one is free.
   *
   * @param leaseUs may be `Infinity`: held until it is released
   */
  hold(id: string, max: number, nowUs: number, leaseUs: number): Held {
    this.#dropEnded(nowUs);
    if (!this.#endsAtUs.has(id) && this.#endsAtUs.size >= max) {
      return { granted: false, inFlight: this.#endsAtUs.size };
    }
    const endsAtUs = nowUs + leaseUs;
    this.#endsAtUs.set(id, endsAtUs);
    this.#firstEndUs = Math.min(this.#firstEndUs, endsAtUs);
    return { granted: true, inFlight: this.#endsAtUs.size };
  }

  /** Frees the slot of `id`; does nothing when it has none. */
  release(id: string): void {
    this.#endsAtUs.delete(id);
  }

  /** True while `id` has a slot, even if its lease has ended and nobody has noticed yet. */
  has(id: string): boolean {
    return this.#endsAtUs.has(id);
  }

  /** Nobody holds anything: the key may be forgotten. */
  get isEmpty(): boolean {
    return this.#endsAtUs.size === 0;
  }

  #dropEnded(nowUs: number): void {
    if (nowUs < this.#firstEndUs) return;
    this.#firstEndUs = Infinity;
    for (const [id, endsAtUs] of this.#endsAtUs) {
      if (endsAtUs <= nowUs) this.#endsAtUs.delete(id);
      else this.#firstEndUs = Math.min(this.#firstEndUs, endsAtUs);
    }
  }
}
