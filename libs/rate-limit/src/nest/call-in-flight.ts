// Knows when nothing of a request runs any more: its answer is out or its client gone, and its handler has ended.
import { onAnswered } from './transports/http-caller';

/** Told of the end of a call: `ended` once; `abandoned` before it when the answer ends while the handler still works. */
export interface CallListener {
  ended(): void;
  abandoned(): void;
}

/** One request, from its first guard on. */
export class CallInFlight {
  readonly #listeners = new Set<CallListener>();
  readonly #taken = new Set<object>();
  #running = 0;
  #isAnswered = false;
  #isOver = false;

  constructor(response: unknown) {
    onAnswered(response, () => this.#answered());
  }

  /** True for the first who asks for `what`: however many guards and interceptors see a request, one takes care. */
  takes(what: object): boolean {
    if (this.#taken.has(what)) return false;
    this.#taken.add(what);
    return true;
  }

  /** Tells `listener` of the end; at once when that is over. */
  watch(listener: CallListener): void {
    if (this.#isAnswered && this.#running === 0) {
      listener.ended();
      return;
    }
    this.#listeners.add(listener);
    if (this.#isAnswered) listener.abandoned();
  }

  /** Everybody was told of the end, and has given back what was held for the call. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The handler is called. Returns what is to be called when it has ended. */
  handlerStarts(): () => void {
    let isRunning = true;
    this.#running++;
    return () => {
      if (!isRunning) return;
      isRunning = false;
      this.#running--;
      this.#tellEnd();
    };
  }

  #answered(): void {
    this.#isAnswered = true;
    if (this.#running > 0) for (const listener of this.#listeners) listener.abandoned();
    this.#tellEnd();
  }

  #tellEnd(): void {
    if (!this.#isAnswered || this.#running > 0) return;
    this.#isOver = true;
    for (const listener of this.#listeners) listener.ended();
    this.#listeners.clear();
  }
}

// By the request: guards and interceptors of one invocation get contexts of their own.
const calls = new WeakMap<object, CallInFlight>();

/** What is known of a request's end. */
export function callInFlight(request: object, response: unknown): CallInFlight {
  let call = calls.get(request);
  if (call === undefined) calls.set(request, (call = new CallInFlight(response)));
  return call;
}
