// The guard of load shedding: asks the two shedders, the cheaper one first, before anything else of a request.
import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type OnModuleInit,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { chance, type Clock } from '../core/clock';
import { InvalidLimitError } from '../core/errors';
import { type MaybePromise, whenThere } from '../http/maybe-promise';
import { retryAfterSeconds } from '../http/retry-after';
import { ConcurrencyLimiter } from '../limiter/concurrency-limiter';
import type { Criticality } from '../limiter/criticality';
import type { LimiterEmitter, Shed } from '../limiter/events';
import { FleetShedder } from '../limiter/fleet-shedder';
import type { PolicyRegistry } from '../limiter/policy-registry';
import { WorkerShedder } from '../limiter/worker-shedder';
import { CallCriticalities } from './call-criticalities';
import { callInFlight, type CallInFlight } from './call-in-flight';
import { ErrorLog } from './error-log';
import { EventLoopDelay } from './event-loop-delay';
import { NEVER_CACHED } from './http-answer';
import { LoadShedException } from './load-shed.exception';
import type { LoadSheddingOptions } from './load-shedding.options';
import {
  LIMITER_EMITTER,
  LOAD_SHEDDING_OPTIONS,
  POLICY_REGISTRY,
  SCHEDULER,
} from './rate-limit.constants';
import { setHeaders } from './transports/http-caller';

const PLACE = 'LoadSheddingModule';

/** Sheds requests. Other transports pass. */
@Injectable()
export class LoadShedder implements CanActivate, OnModuleInit, OnApplicationShutdown {
  #delay: EventLoopDelay | undefined;
  #inFlight = 0;
  #worker: WorkerShedder | undefined;
  #fleet: FleetShedder | undefined;
  #criticalities!: CallCriticalities;
  #events!: LimiterEmitter;
  #errors!: ErrorLog;
  #clock!: Clock;

  constructor(
    @Inject(LOAD_SHEDDING_OPTIONS) private readonly options: LoadSheddingOptions,
    @Inject(ModuleRef) private readonly modules: ModuleRef,
  ) {}

  /** @throws InvalidLimitError, UnsupportedOperationError naming the option */
  onModuleInit(): void {
    this.#events = this.#part(LIMITER_EMITTER);
    this.#errors = this.#part(ErrorLog);
    this.#clock = this.#part(SCHEDULER);
    const { fleet, worker = {}, load, criticalityOf } = this.options;
    this.#criticalities = new CallCriticalities(criticalityOf, (error) =>
      this.#errors.report(error),
    );
    if (fleet !== undefined) {
      const registry = this.#part<PolicyRegistry>(POLICY_REGISTRY);
      const limiter = this.#part<ConcurrencyLimiter>(ConcurrencyLimiter);
      this.#fleet = new FleetShedder(fleet, registry, limiter, `${PLACE}: fleet`);
    }
    if (worker === false) return;
    const read = load ?? (() => this.#reading());
    this.#worker = new WorkerShedder(worker, read, `${PLACE}: worker`, this.#clock.monotonicMs());
    if (load === undefined && worker.eventLoopDelayMs !== false) this.#delay = new EventLoopDelay();
  }

  onApplicationShutdown(): void {
    this.#delay?.close();
  }

  canActivate(context: ExecutionContext): MaybePromise<boolean> {
    if (context.getType() !== 'http') return true;
    const [request, response] = context.getArgs<[object, unknown]>();
    const call = callInFlight(request, response);
    if (!call.takes(this)) return true;
    return whenThere(this.#criticalities.of(context), (criticality) => {
      const { random = chance } = this.options;
      if (this.#worker?.sheds(criticality, random(), this.#clock.monotonicMs()) === true) {
        this.#shed('worker', criticality, response);
      }
      this.#count(call);
      return this.#fleet === undefined
        ? true
        : this.#enter(this.#fleet, criticality, call, response);
    });
  }

  async #enter(
    fleet: FleetShedder,
    criticality: Criticality,
    call: CallInFlight,
    response: unknown,
  ): Promise<true> {
    try {
      const { allowed, lease } = await fleet.enter(criticality, this.#isShadow, (lost) =>
        this.#errors.report(lost),
      );
      if (lease !== undefined) {
        call.watch({ ended: () => void lease.release(), abandoned: () => lease.runOut() });
      }
      if (!allowed) this.#shed(fleet.name, criticality, response);
    } catch (error) {
      // A shedder that is broken must not be the outage.
      if (error instanceof LoadShedException) throw error;
      this.#errors.report(error);
    }
    return true;
  }

  #shed(by: string, criticality: Criticality, response: unknown): void {
    const { retryAfterMs = 2000, jitter = 1, random = chance } = this.options;
    const shed: Shed = {
      by,
      criticality,
      level: this.#worker?.levelAt(this.#clock.monotonicMs()) ?? 0,
      retryAfterMs: retryAfterMs * (1 + jitter * random()),
      shadow: this.#isShadow,
    };
    this.#events.emit('shed', shed);
    if (shed.shadow) return;
    const seconds = retryAfterSeconds(shed.retryAfterMs);
    setHeaders(response, [NEVER_CACHED, ['Retry-After', `${seconds}`]]);
    throw new LoadShedException(shed);
  }

  /** Until the answer is out: what a client that left has started shows in the event loop, if it is much. */
  #count(call: CallInFlight): void {
    this.#inFlight++;
    let counts = true;
    const gone = () => {
      if (counts) this.#inFlight--;
      counts = false;
    };
    call.watch({ ended: gone, abandoned: gone });
  }

  #reading() {
    return { eventLoopDelayMs: this.#delay?.readMs() ?? 0, inFlight: this.#inFlight };
  }

  get #isShadow(): boolean {
    return this.options.mode === 'shadow';
  }

  /** Of whichever registration of RateLimitModule there is. */
  #part<T>(token: Parameters<ModuleRef['get']>[0]): T {
    try {
      return this.modules.get<T>(token, { strict: false });
    } catch (cause) {
      throw new InvalidLimitError(
        `${PLACE}: there is no RateLimitModule, whose store and events it uses: import RateLimitModule.forRoot() as well`,
        { cause },
      );
    }
  }
}
