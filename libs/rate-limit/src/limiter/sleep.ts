// Waiting that a signal ends. Owns no timer beyond the wait.
import type { Scheduler } from '../core/clock';
import { onAbort } from './aborts';

/** Resolves after `ms`, never earlier; rejects with the signal's reason when that aborts first, or has already. */
export function sleep(clock: Scheduler, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const callOff = clock.after(ms, () => {
      stopListening();
      resolve();
    });
    const stopListening = onAbort(signal, (reason) => {
      callOff();
      stopListening();
      reject(reason as Error);
    });
  });
}
