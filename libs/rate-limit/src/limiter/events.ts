// Typed events of the limiter, for logs and metrics. Nobody listening costs nothing.
import { EventEmitter } from 'node:events';
import type { Decision } from '../core/decision';
import type { Criticality } from './criticality';

/** A call that a load shedder refused, or would have. */
export interface Shed {
  /** `worker`, or the name of the fleet. */
  readonly by: string;
  readonly criticality: Criticality;
  /** How hard this process is pressed: 0 not at all, 1 the most. */
  readonly level: number;
  /** With its jitter. */
  readonly retryAfterMs: number;
  /** The call went on. */
  readonly shadow: boolean;
}

/** What the limiter tells, and with what. */
export interface LimiterEvents {
  /** A charge was admitted. */
  allowed: [Decision];
  /** A charge was refused, or would have been: `shadow` says which. */
  denied: [Decision, { readonly shadow: boolean }];
  /** An admitted charge left at most a fifth of the bucket. */
  nearLimit: [Decision];
  /** A refused call became a job of a queue. */
  deferred: [Decision];
  /** A call was shed, or would have been. */
  shed: [Shed];
  /** The shared store went out; once an outage, with its cause. */
  storeOut: [Error];
  /** The shared store is back; once an outage. */
  storeBack: [];
}

/** `limiter.events`: `on`, `once`, `off` with typed listeners. */
export class LimiterEmitter extends EventEmitter<LimiterEvents> {
  /** Reports one decision. */
  decided(decision: Decision, allowed: boolean, shadow: boolean): void {
    if (!allowed) {
      if (this.listenerCount('denied') > 0) this.emit('denied', decision, { shadow });
      return;
    }
    if (this.listenerCount('allowed') > 0) this.emit('allowed', decision);
    if (this.listenerCount('nearLimit') > 0 && decision.remaining * 5 <= decision.limit) {
      this.emit('nearLimit', decision);
    }
  }
}
