// Many waits on one AbortSignal: one listener, however many there are.

/** Tells waits that their signal aborted. */
export class Aborts {
  readonly #signals = new Map<
    AbortSignal,
    { waits: Set<(reason: unknown) => void>; off(): void }
  >();

  /** @param told with the signal's reason */
  add(signal: AbortSignal | undefined, told: (reason: unknown) => void): void {
    if (signal === undefined) return;
    const known = this.#signals.get(signal);
    if (known !== undefined) {
      known.waits.add(told);
      return;
    }
    const waits = new Set([told]);
    const listener = () => waits.forEach((tell) => tell(signal.reason));
    signal.addEventListener('abort', listener, { once: true });
    this.#signals.set(signal, {
      waits,
      off: () => signal.removeEventListener('abort', listener),
    });
  }

  remove(signal: AbortSignal | undefined, told: (reason: unknown) => void): void {
    const known = signal && this.#signals.get(signal);
    if (!known) return;
    known.waits.delete(told);
    if (known.waits.size > 0) return;
    known.off();
    this.#signals.delete(signal);
  }
}
