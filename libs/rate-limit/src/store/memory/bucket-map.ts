// A Map in many parts. A Map that grows past a power of two moves all it holds at once, which takes a tenth of a second at
// a million; the parts grow one by one. Knows nothing of buckets.

const PARTS = 64;

/** As a Map by text, as far as the store needs one. */
export class BucketMap<Value> {
  readonly #parts = Array.from({ length: PARTS }, () => new Map<string, Value>());
  #size = 0;
  #walk = this.#entries();

  get size(): number {
    return this.#size;
  }

  get(name: string): Value | undefined {
    return this.#part(name).get(name);
  }

  has(name: string): boolean {
    return this.#part(name).has(name);
  }

  set(name: string, value: Value): void {
    const part = this.#part(name);
    const before = part.size;
    part.set(name, value);
    this.#size += part.size - before;
  }

  delete(name: string): boolean {
    const wasThere = this.#part(name).delete(name);
    if (wasThere) this.#size--;
    return wasThere;
  }

  /** The next entry of an endless walk over all of them; `undefined` at the end of each round. */
  next(): readonly [name: string, value: Value] | undefined {
    const { done, value } = this.#walk.next();
    if (!done) return value;
    this.#walk = this.#entries();
    return undefined;
  }

  *#entries(): Generator<[string, Value], undefined> {
    for (const part of this.#parts) yield* part.entries();
    return undefined;
  }

  /** FNV-1a. Who aims at one part gets what a Map would have been. */
  #part(name: string): Map<string, Value> {
    let hash = 0x811c9dc5;
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
    return this.#parts[(hash >>> 0) % PARTS];
  }
}
