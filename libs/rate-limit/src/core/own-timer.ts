// A timer of the limiter itself. One that is set while a call is handled would keep all that runs in the call's
// AsyncLocalStorage, and so would every timer that is set by it, for as long as the chain goes on.
import { AsyncLocalStorage } from 'node:async_hooks';

/** Where no call is: this file is loaded before the first. */
const outsideAnyCall = AsyncLocalStorage.snapshot();

/** Calls `fire` after `ms`, in no call's context. Keeps no process alive. */
export function ownTimer(fire: () => void, ms: number): NodeJS.Timeout {
  return outsideAnyCall(() => setTimeout(fire, ms).unref());
}
