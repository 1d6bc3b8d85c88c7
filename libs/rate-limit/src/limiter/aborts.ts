// Many waits on one AbortSignal: one listener, however many there are, so that Node sees no leak.

interface Listened {
  readonly waits: Set<(reason: unknown) => void>;
  off(): void;
}

const listened = new Map<AbortSignal, Listened>();

/**
 * Calls `told` with the signal's reason when it aborts; not for one that has aborted already.
 * @returns what ends the listening
 */
export function onAbort(
  signal: AbortSignal | undefined,
  told: (reason: unknown) => void,
): () => void {
  if (signal === undefined) return () => undefined;
  const known = listened.get(signal) ?? listenTo(signal);
  // Of its own, so that one function may be given twice.
  const wait = (reason: unknown) => told(reason);
  known.waits.add(wait);
  return () => {
    known.waits.delete(wait);
    if (known.waits.size > 0) return;
    known.off();
    if (listened.get(signal) === known) listened.delete(signal);
  };
}

function listenTo(signal: AbortSignal): Listened {
  const waits = new Set<(reason: unknown) => void>();
  const tell = () => waits.forEach((told) => told(signal.reason));
  signal.addEventListener('abort', tell);
  const known = { waits, off: () => signal.removeEventListener('abort', tell) };
  listened.set(signal, known);
  return known;
}
